"""Chains: the snapshots that a snapshot stands on, down to a full one.

A run's snapshots are numbered from 0. The n-th stands on number n without its lowest set bit (n & (n - 1)), so at most
log2(n) differences lie between any of them and a full one, and each holds what changed since not long before, for
ever: the *skip-deltas* of Subversion's store. A full one is written where a difference would not pay.

A difference names its base by seq and by *stamp*, a checksum of the base's body: a snapshot that was made anew at that
seq, by other code, is not what the difference was made from.
"""

from collections.abc import Iterable
from zlib import crc32

import msgspec

from looms.reducers.codec import Unfit, encode
from looms.reducers.errors import LoomsError
from looms.reducers.image_bytes import pack_delta, pack_full, unpack_delta, unpack_full
from looms.reducers.images import Image, fits
from looms.reducers.registry import Registry
from looms.snapshots import snapshot_rows
from looms.snapshots.reading import Reading
from looms.snapshots.rows import SnapshotInfo

ROW = 128  # bytes that a snapshot costs beside its body, about: keys, what is known of it, seals


class Link(msgspec.Struct, frozen=True, gc=False):
    """A snapshot in memory.

    Attributes:
        number: of the run's snapshots, from 0.
        seq: where it was taken.
        stamp: its stamp.
        full: the bytes of the full snapshot that was written or estimated last.
        image: what it holds; it shares what did not change with the images of the others.
    """

    number: int
    seq: int
    stamp: int
    full: int
    image: Image


class Chain(msgspec.Struct, frozen=True, gc=False):
    """What a run's next snapshot may stand on.

    Attributes:
        links: the last snapshot and those that it stands on by number, oldest first.
        next: the number of the next snapshot.
    """

    links: tuple[Link, ...] = ()
    next: int = 0

    @property
    def seq(self) -> int:
        """The seq of the last snapshot; 0 for none."""
        return self.links[-1].seq if self.links else 0


class Written(msgspec.Struct, frozen=True, gc=False):
    """A snapshot's bytes: what is known of it, its body, and the chain that ends with it."""

    info: SnapshotInfo
    body: bytes
    chain: Chain


class Misfit(Exception):
    """A snapshot that is sound, and not of today's code."""


def extend(chain: Chain, image: Image, fingerprints: dict[str, str], code: Registry) -> Written:
    """The next snapshot of a run: a difference from the one that it is to stand on, or in full where that is less.

    Raises:
        Unfit: a state holds something that would come back as something else; the message has the path.
    """
    base = _base(chain)
    found = _difference(base, image, code) or _smaller(base, image, code)
    return _written(chain, base, image, fingerprints, *found)


def extend_soon(
    chain: Chain, image: Image, fingerprints: dict[str, str], code: Registry, largest: int
) -> Written | None:
    """The same, unless it takes long: None for an image that has to be written in full and has more than so many bytes.

    Raises:
        Unfit: a state holds something that would come back as something else; the message has the path.
    """
    base = _base(chain)
    found = _difference(base, image, code)
    if found is None and (base.full if base is not None else _size(image)) > largest:
        return None
    return _written(chain, base, image, fingerprints, *(found or _smaller(base, image, code)))


def _base(chain: Chain) -> Link | None:
    """What the next snapshot of a chain is to stand on."""
    base = chain.next & (chain.next - 1)
    return next((link for link in chain.links if link.number == base), None) if chain.next else None


def _written(
    chain: Chain, base: Link | None, image: Image, prints: dict[str, str], kind: str, body: bytes, full: int
) -> Written:
    number, stamp = chain.next, crc32(body)
    info = SnapshotInfo(image.at, kind, None, prints, len(body), number, stamp)
    if kind == "delta" and base is not None:
        info = msgspec.structs.replace(info, base=base.seq, base_stamp=base.stamp)
    needed = set(below(number))
    links = tuple(link for link in chain.links if link.number in needed)
    return Written(info, body, Chain((*links, Link(number, image.seq, stamp, full, image)), number + 1))


def _difference(base: Link | None, image: Image, code: Registry) -> tuple[str, bytes, int] | None:
    """A difference that pays, as far as is known without encoding the whole: nothing is encoded but what changed."""
    delta = None if base is None else _delta(base.image, image, code)
    return ("delta", delta, base.full) if base is not None and delta is not None and _pays(delta, base.full) else None


def _smaller(base: Link | None, image: Image, code: Registry) -> tuple[str, bytes, int]:
    """The kind and the body to write, and how large it is in full."""
    full = pack_full(image, code)
    delta = None if base is None else _delta(base.image, image, code)
    if delta is not None and _pays(delta, len(full)):
        return "delta", delta, len(full)
    return "full", full, len(full)


def _size(image: Image) -> int:
    """The bytes that an image takes in full, about; 0 where it cannot be encoded."""
    try:
        return sum(len(encode(thread.state)) for thread in image.threads)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return 0


def _delta(base: Image, image: Image, code: Registry) -> bytes | None:
    try:
        return pack_delta(base, image, code)
    except Unfit:
        return None  # the full one says where


def _pays(delta: bytes, full: int) -> bool:
    return (len(delta) + ROW) * 2 <= full + ROW


def below(number: int) -> Iterable[int]:
    """The numbers that a snapshot stands on, one through the other."""
    while number:
        number &= number - 1
        yield number


def read(reading: Reading, run: int, seq: int, code: Registry | None) -> Chain:
    """Read the snapshot of a run at exactly `seq`, with all that it stands on.

    Args:
        code: today's code, by which states are read; without it they are plain data.

    Raises:
        Misfit: it is not of today's code.
        StoreFormatError: it, or one that it stands on, is damaged or missing.
    """
    infos = list(_down(reading, run, seq, code))
    links: list[Link] = []
    for at, info in reversed(infos):
        body = snapshot_rows.body(reading, run, at)
        try:
            found = unpack_delta(links[-1].image, body, code) if links else unpack_full(body, code)
        except (msgspec.MsgspecError, Unfit, LoomsError, ValueError, RecursionError) as error:
            raise snapshot_rows.broken(reading, run, at, str(error)) from error
        if found.seq != at:
            raise snapshot_rows.broken(reading, run, at, f"it is of seq {found.seq}")
        links.append(Link(info.number, at, info.stamp, links[-1].full if links else info.bytes, found))
    return Chain(tuple(links), links[-1].number + 1)


def _down(reading: Reading, run: int, seq: int, code: Registry | None) -> Iterable[tuple[int, SnapshotInfo]]:
    """What is known of a snapshot, and of those that it stands on, down to a full one."""
    stamp: int | None = None
    while True:
        info = snapshot_rows.get(reading, run, seq)
        if info is None:
            raise snapshot_rows.broken(reading, run, seq, "it is missing")
        if code is not None and not fits(info.fingerprints, code):
            raise Misfit
        if stamp is not None and info.stamp != stamp:
            raise snapshot_rows.broken(
                reading, run, seq, "it is another one than those were made from that stand on it"
            )
        yield seq, info
        if info.kind == "full":
            return
        if info.kind != "delta" or info.base is None or info.base >= seq:
            raise snapshot_rows.broken(reading, run, seq, f"it is {info.kind!r} and stands on {info.base}")
        seq, stamp = info.base, info.base_stamp
