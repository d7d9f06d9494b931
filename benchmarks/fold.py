"""Folding a long log from its beginning.

Budget: refold of a 1,000,000-record run, against a bare loop that reads a cursor, decodes and calls the same reducer:
at least 0.6.

Measured: records a second of `Reader.run(...).state()`, with a version of the reducer for which no stored snapshot
holds, so that all of the log is folded; that every record was folded is checked. The bare loop reads as many rows of
as many bytes from one table, decodes each at once into a typed struct (envelope and event together), and calls the
reducer. It looks at no types, decisions, threads or waits.

Not measured: a disk that is slower than the machine's cache.
"""

import time
from pathlib import Path

import msgspec

import looms
from benchmarks import raw
from benchmarks.application import Counted, Tallies, Tally, bench, tally_of
from benchmarks.context import Context
from benchmarks.figures import Figure, ratio
from benchmarks.long_runs import long_runs
from benchmarks.reporting import progress


class Bare(msgspec.Struct, frozen=True, array_like=True):
    """A record of the bare loop, with the event as part of it; `rest` makes it as long as those of Looms."""

    seq: int
    at: int
    type: str
    event: Counted
    rest: bytes


def fold(context: Context) -> list[Figure]:
    """Records folded a second, against a bare loop."""
    sizes = context.sizes
    store, length = long_runs(context, sizes.short, sizes.long), sizes.long
    size = context.run(record_bytes, "what a record takes", path=store)
    bare = context.made("bare", make_bare, f"{length:,} bare records", records=length, size=size)
    rates = context.rounds(
        {
            "bare": lambda: context.run(bare_loop, "a bare loop", path=bare, records=length),
            "Looms": lambda: context.run(refold, "Looms", path=store, records=length),
        }
    )
    return [
        ratio(
            "fold",
            f"records folded a second, {length:,} of them, against a bare loop",
            rates["Looms"],
            rates["bare"],
            "/s",
            at_least=0.6,
            against="a bare loop",
        )
    ]


async def refold(path: str, records: int) -> float:
    """Records that Looms folds a second."""
    module, _ = tally_of(2)
    async with looms.Reader(path, modules=[bench, module]) as reader:
        Tallies.calls = 0
        begun = time.perf_counter()
        state = await reader.run(f"tally-{records}").state()
        taken = time.perf_counter() - begun
    if (state.count, Tallies.calls) != (records - 1, records):
        raise AssertionError(f"{Tallies.calls} of {records} records were folded, into {state}")
    return records / taken


def record_bytes(path: str) -> int:
    """The mean bytes of the last records in a store's log."""
    with raw.opened(path, readonly=True) as environment:
        log = raw.tables(environment)["log"]
        with environment.begin() as txn:
            cursor = txn.cursor(log)
            cursor.last()
            sizes = [len(value) for _, (_, value) in zip(range(100), cursor.iterprev(), strict=False)]
    return sum(sizes) // len(sizes)


def make_bare(path: str, records: int, size: int) -> None:
    """Write the records of the bare loop, each of about so many bytes."""
    encode = msgspec.msgpack.Encoder().encode
    Path(path).mkdir()
    rest = bytes(max(0, size - len(encode(_bare(records, b""))) - 1))
    with raw.opened(path, durable=False) as environment:
        log = environment.open_db(b"log")
        for first in range(0, records, 10_000):
            progress(first, records)
            rows = [(n.to_bytes(8), encode(_bare(n, rest))) for n in range(first, min(first + 10_000, records))]
            with environment.begin(write=True) as txn:
                txn.cursor(log).putmulti(rows, append=True)


def _bare(n: int, rest: bytes) -> Bare:
    return Bare(n, time.time_ns() // 1_000_000, "bench.counted", Counted(amount=n), rest)


def bare_loop(path: str, records: int) -> float:
    """Records that a bare loop folds a second."""
    _, definition = tally_of(1)
    decode = msgspec.msgpack.Decoder(Bare).decode
    state = Tally()
    with raw.opened(path, readonly=True) as environment:
        log = environment.open_db(b"log", create=False)
        begun = time.perf_counter()
        with environment.begin(buffers=True) as txn:
            for value in txn.cursor(log).iternext(keys=False):
                state = definition(state, decode(value).event)
        taken = time.perf_counter() - begun
    if state.count != records:
        raise AssertionError(f"{state.count} of {records} records were folded")
    return records / taken
