"""What follows from a run's records, against the rows that say so, both ways: missing, too many, and different ones."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from looms.actors.index_rows import found_by, grace_timer
from looms.care.findings import Damage, Mend, damage, reason, rows
from looms.care.tables import NO_NUMBER, last_number
from looms.reducers.agreement import Told, agreed
from looms.reducers.codec import encode as pack
from looms.reducers.entries import unpack_entry
from looms.reducers.folded import EffectKey, FoldedRun
from looms.reducers.items import EffectAnswer, EffectGaveUp, GraceOver, Look, TimerFired, pack_item, unpack_item
from looms.snapshots import effect_rows, former, heads, log, read_rows, timers, wait_rows, walks
from looms.snapshots.errors import StoreFormatError
from looms.snapshots.packing import pair, place, read_pair, read_place, read_u64, u64
from looms.snapshots.reading import Reading
from looms.snapshots.rebuilding import Change
from looms.snapshots.rows import LAST_NUMBER, EffectRow, Head, decode, encode
from looms.snapshots.tables import (
    BODIES,
    EFFECTS,
    EXTENTS,
    FORMER,
    IDS,
    INBOX,
    KEYS,
    PARKED,
    READS,
    RUNS,
    SNAPSHOTS,
    TIMERS,
    WAITS,
    Table,
)
from looms.snapshots.timers import TimerKey
from looms.snapshots.view import View

if TYPE_CHECKING:
    from looms.care.run_walk import RunWalk

_effect = msgspec.msgpack.Decoder(EffectRow)
_answer = msgspec.msgpack.Decoder(int)


class Inbox(msgspec.Struct):
    """What messages that a run has not taken yet say of its effects and deadlines.

    Attributes:
        readable: all of them could be read.
        outcomes: the effects whose outcome waits there.
        over: the waits, by key, whose deadline waits there.
        graces: the cancellations, by seq, whose end waits there.
        looks: the waits, by key, that are to be looked at.
    """

    readable: bool = True
    outcomes: set[EffectKey] = msgspec.field(default_factory=set)
    over: set[tuple[int, int]] = msgspec.field(default_factory=set)
    graces: set[int] = msgspec.field(default_factory=set)
    looks: set[tuple[int, int]] = msgspec.field(default_factory=set)


def compare(view: View, walk: "RunWalk") -> list[Damage]:
    """Compare all that is stored beside a run's log with what the log says, in the view that saw its last record."""
    head, run = walk.head, walk.run
    assert head is not None
    inbox, found = _inbox(view, head)
    if walk.ledger is not None:
        found += [*_head(head, walk), *_places(view, head), *_found_by(view, head), *_keys(view, head, walk)]
        found += _pairs(view, head)
    expected: set[bytes] = set()
    if run is not None:
        if walk.ledger is not None:
            found += _effects(view, head, run, inbox)
            found += _parked(view, head, run, inbox)
        found += _waits(view, head, run, walk, expected)
        found += _timers(view, head, run, inbox, walk, expected)
        if inbox.readable:
            found += _too_many(view, head, walk, expected)
    return found


def answer_in(reading: Reading, key: bytes, body: bytes) -> int:
    """What a row of the keys says was answered.

    Raises:
        StoreFormatError: it says something else.
    """
    return decode(_answer, KEYS, key, body, reading)


def _head(head: Head, walk: "RunWalk") -> Iterator[Damage]:
    """The head's status, error and times."""
    told = Told(head.status, head.error, head.started_at, head.updated_at)
    should = agreed(told, walk.run, walk.first_at, walk.last_at)
    right = msgspec.structs.replace(head, **msgspec.structs.asdict(should))
    if right.status not in heads.STATUSES:
        right = msgspec.structs.replace(right, status="running")
    wrong = [name for name in Head.__struct_fields__ if getattr(head, name) != getattr(right, name)]
    if wrong:
        said = ", ".join(f"{name} is {getattr(head, name)!r}, should be {getattr(right, name)!r}" for name in wrong)
        yield damage(RUNS, u64(head.number), said, rows(*_moved(head, right)), run_id=head.run_id)


def _moved(old: Head, new: Head) -> list[tuple[Table, bytes, bytes | None]]:
    """The rows to change where a head is put right."""
    changes: list[tuple[Table, bytes, bytes | None]] = []
    if old.status in heads.STATUSES:
        changes += [(table, key, None) for table, key in heads.lists(old)]
    changes += [(table, key, b"") for table, key in heads.lists(new)]
    return [*changes, (RUNS, u64(new.number), encode(new))]


def _places(view: View, head: Head) -> Iterator[Damage]:
    """Rows of extents behind what the head itself says of the records' places; the walk has followed the others."""
    first = head.tail[0].seq if head.tail else 0
    for key, _ in walks.of_run(view, EXTENTS, head.number):
        if len(key) != 16 or read_pair(key)[1] >= first:
            what = "it is about records whose places the run's head tells"
            yield damage(EXTENTS, key, what, rows((EXTENTS, key, None)), run_id=head.run_id)


def _found_by(view: View, head: Head) -> Iterator[Damage]:
    """The run is found by its id and in its list."""
    name = head.run_id.encode()
    try:
        told = heads.number_of(view, head.run_id)
        what = (
            None if told == head.number else "the run's id leads " + ("nowhere" if told is None else f"to run {told}")
        )
    except StoreFormatError as error:
        what = reason(error)
    if what is not None:
        yield damage(IDS, name, what, rows((IDS, name, u64(head.number))), run_id=head.run_id)
    if head.again and not former.had(view, head.run_id):
        what = f"another run had the id {head.run_id!r} before, and nothing says so"
        yield damage(FORMER, former.key(head.run_id), what, rows((FORMER, former.key(head.run_id), b"")))
    if head.status in heads.STATUSES:
        for table, key in heads.lists(head):
            if not _is_there(view, table, key):
                what = f"run {head.run_id!r} is not in the list of {head.status} runs"
                yield damage(table, key, what, rows((table, key, b"")), run_id=head.run_id)


def _inbox(view: View, head: Head) -> tuple[Inbox, list[Damage]]:
    inbox, found = Inbox(), []
    for key, body in walks.of_run(view, INBOX, head.number):
        try:
            if isinstance(body, StoreFormatError):
                raise body
            item = unpack_item(body)
        except (msgspec.MsgspecError, ValueError, RecursionError, StoreFormatError) as error:
            inbox.readable = False
            what = f"a message that the run has not taken cannot be read, so it cannot go on: {reason(error)}"
            found.append(damage(INBOX, key, what, let_go=rows((INBOX, key, None)), run_id=head.run_id))
            continue
        if read_pair(key)[1] > LAST_NUMBER:
            found.append(damage(INBOX, key, NO_NUMBER, _renumbered(key, body), run_id=head.run_id))
        match item:
            case EffectGaveUp(effect=effect) | EffectAnswer(effect=effect, final=True):
                inbox.outcomes.add(effect)
            case TimerFired(wait=wait):
                inbox.over.add(wait)
            case GraceOver(seq=seq):
                inbox.graces.add(seq)
            case Look(wait=wait):
                inbox.looks.add(wait)
    return inbox, found


def _renumbered(key: bytes, body: bytes) -> Mend:
    """Put a message behind all others, where its number had it."""

    def mend(view: View) -> list[Change]:
        return [(INBOX, pair(read_u64(key), last_number(view, INBOX) + 1), body), (INBOX, key, None)]

    return mend


def _effects(view: View, head: Head, run: FoldedRun, inbox: Inbox) -> Iterator[Damage]:
    """Every outstanding effect has a row, unless its outcome waits in the inbox, and nothing else has."""
    wanted = {
        place(head.number, *key): effect_rows.untried(effect)
        for key, effect in run.effects.items()
        if key not in inbox.outcomes
    }
    for key, body in walks.of_run(view, EFFECTS, head.number):
        should = wanted.pop(key, None)
        if should is None:
            if inbox.readable:
                what = "no such effect is outstanding"
                yield damage(EFFECTS, key, what, rows((EFFECTS, key, None)), run_id=head.run_id)
            continue
        if (unlike := _unlike(view, key, body, should)) is not None:
            # What is held is not let go by a repair: a fork whose head was lost does not know any more that it is one.
            mend = None if not should.held and _is_held(body) else rows((EFFECTS, key, encode(should)))
            yield damage(EFFECTS, key, unlike, mend, run_id=head.run_id)
    if inbox.readable:
        for key, should in wanted.items():
            what = f"effect {should.effect} is outstanding, and has no row: nobody runs it"
            yield damage(EFFECTS, key, what, rows((EFFECTS, key, encode(should))), run_id=head.run_id)


def _unlike(view: View, key: bytes, body: bytes | StoreFormatError, should: EffectRow) -> str | None:
    """What is wrong with the row of an outstanding effect; how far its attempts are is told there alone."""
    try:
        if isinstance(body, StoreFormatError):
            raise body
        row = decode(_effect, EFFECTS, key, body, view)
    except StoreFormatError as error:
        return f"{reason(error)} Its attempts begin anew."
    if (row.effect, row.held) != (should.effect, should.held):
        return f"it is {row.effect} (held: {row.held}), and was asked for as {should.effect} (held: {should.held})"
    return None


def _is_held(body: bytes | StoreFormatError) -> bool:
    try:
        return not isinstance(body, StoreFormatError) and _effect.decode(body).held
    except (msgspec.MsgspecError, ValueError):
        return False


def _waits(view: View, head: Head, run: FoldedRun, walk: "RunWalk", expected: set[bytes]) -> Iterator[Damage]:
    for wait in run.waits.by_key.values():
        for type, _, hash in found_by(wait):
            key = wait_rows.key(hash, head.number, *wait.key)
            if walk.ledger is None:
                expected.add(key)
            else:
                walk.ledger.tallies[WAITS].take(head.number, key)
                if not _is_there(view, WAITS, key):
                    what = f"the run waits for {type}, and would not be found"
                    yield damage(WAITS, key, what, rows((WAITS, key, b"")), run_id=head.run_id)


def _parked(view: View, head: Head, run: FoldedRun, inbox: Inbox) -> Iterator[Damage]:
    """Every wait that is met in a joint turn is parked on what it has read, or to be looked at, and nothing else is."""
    wanted = {place(head.number, *wait.key): wait for wait in run.waits.by_key.values() if wait.joint is not None}
    for key, body in walks.of_run(view, PARKED, head.number):
        if wanted.pop(key, None) is None:
            yield damage(PARKED, key, "the run has no such wait", rows((PARKED, key, None)), run_id=head.run_id)
        elif (what := _unnoted(view, key, body)) is not None:
            yield damage(PARKED, key, what, _looked_at_again(key), run_id=head.run_id)
    if inbox.readable:
        for key, wait in wanted.items():
            if wait.key not in inbox.looks:
                what = f"the run waits on {wait.joint}, and nothing would have it looked at"
                yield damage(PARKED, key, what, _looked_at_again(key), run_id=head.run_id)


def _unnoted(view: View, key: bytes, body: bytes | StoreFormatError) -> str | None:
    """Why a write to what a parked wait has read might not wake it."""
    try:
        if isinstance(body, StoreFormatError):
            raise body
        row = read_rows.unpacked_row(view, key, body)
        if row.number != read_rows.ABSENT and heads.head(view, row.number) is None:
            return f"it waits on run number {row.number}, which there is not"
    except StoreFormatError as error:
        return reason(error)
    if all(_is_there(view, READS, read_rows.key(row.number, read, read_place(key))) for read in row.reads):
        return None
    return "not all of what it has read is noted: a write to that would not wake it"


def _looked_at_again(key: bytes) -> Mend:
    """Have a parked wait looked at, which notes anew what it reads."""

    def mend(view: View) -> list[Change]:
        number, *wait = read_place(key)
        look = pack_item(Look((wait[0], wait[1]), brought=_waits_for_a_run(view, key)))
        return [(INBOX, pair(number, last_number(view, INBOX) + 1), look), (PARKED, key, None)]

    return mend


def _waits_for_a_run(view: View, key: bytes) -> bool:
    """Whether a parked wait is known to wait for a run that there is not yet."""
    try:
        row = read_rows.parked(view, read_place(key))
    except StoreFormatError:
        return False
    return row is not None and row.number == read_rows.ABSENT


def _timers(
    view: View, head: Head, run: FoldedRun, inbox: Inbox, walk: "RunWalk", expected: set[bytes]
) -> Iterator[Damage]:
    """Every deadline has a timer, unless it waits in the inbox that it is over."""
    wanted = [
        TimerKey(wait.due, head.number, *wait.key)
        for wait in run.waits.by_key.values()
        if wait.due is not None and wait.key not in inbox.over
    ]
    if run.cancelling is not None and run.cancelling.seq not in inbox.graces:
        wanted.append(grace_timer(head.number, run.cancelling))
    for timer in wanted:
        key = timers.key(timer)
        if walk.ledger is None:
            expected.add(key)
        else:
            walk.ledger.tallies[TIMERS].take(head.number, key)
            if inbox.readable and not _is_there(view, TIMERS, key):
                what = "there is no timer for this deadline: it would never fire"
                yield damage(TIMERS, key, what, rows((TIMERS, key, b"")), run_id=head.run_id)


def _too_many(view: View, head: Head, walk: "RunWalk", expected: set[bytes]) -> Iterator[Damage]:
    """Rows that were noticed as perhaps too many, and are."""
    for table, suspected in walk.suspects.items():
        for key in suspected:
            if key not in expected and _is_there(view, table, key):
                what = "the run has no such wait" if table is WAITS else "the run has no such deadline"
                yield damage(table, key, what, rows((table, key, None)), run_id=head.run_id)


def _keys(view: View, head: Head, walk: "RunWalk") -> Iterator[Damage]:
    """Every key of a record has its answer, and nothing else has."""
    for key, (seq, what) in walk.bad_keys.items():
        yield damage(KEYS, key, what, rows((KEYS, key, pack(seq))), run_id=head.run_id)
    stored = sum(1 for _ in walks.of_run(view, KEYS, head.number))
    if stored == walk.answered and not walk.bad_keys:
        return
    for key, body in walks.of_run(view, KEYS, head.number):
        if key in walk.bad_keys:
            continue
        unfounded = _unfounded(view, head, key, body)
        if unfounded is not None:
            # A record that is lost may have come with it.
            mend = rows((KEYS, key, None)) if walk.whole else None
            yield damage(KEYS, key, unfounded, mend, run_id=head.run_id)


def _unfounded(view: View, head: Head, key: bytes, body: bytes | StoreFormatError) -> str | None:
    """Why there should be no answer for a key, or None where a record came with it."""
    try:
        if isinstance(body, StoreFormatError):
            raise body
        seq = answer_in(view, key, body)
    except StoreFormatError as error:
        return reason(error)
    try:
        data = log.record(view, head, seq)
        if data is not None and (unpack_entry(data, None).more.key or "").encode() == key[8:]:
            return None
    except (msgspec.MsgspecError, ValueError, RecursionError, StoreFormatError):
        return None  # the record is lost, which is told where it stands
    return "no record came with this key"


def _pairs(view: View, head: Head) -> Iterator[Damage]:
    """Snapshots of records that there are not; the walk has looked at the others."""
    for table in (SNAPSHOTS, BODIES):
        for key, _ in walks.of_run(view, table, head.number, 4):
            if len(key) != 16 or not 1 <= read_pair(key)[1] <= head.seq:
                what = "a snapshot of a record that there is not"
                yield damage(table, key, what, rows((table, key, None)), run_id=head.run_id)


def _is_there(view: View, table: Table, key: bytes) -> bool:
    try:
        return view.get(table, key) is not None
    except StoreFormatError:
        return False
