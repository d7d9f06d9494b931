"""What was seen on the way was so: nothing that somebody saw is gone, and whoever was told of a record saw it."""

from collections.abc import Iterator

from tests.simulation import operations as ops
from tests.simulation.history import History


def followed(history: History) -> Iterator[str]:
    """What was read of a log while it went on is what it holds in the end."""
    for one in history.followed:
        logs = history.of(one.run_id)
        seqs = [record.seq for record in one.records]
        if seqs != list(range(1, len(seqs) + 1)):
            yield f"{one.run_id}: who followed it saw records {seqs}"
        if one.records and not any(log.records[: len(seqs)] == one.records for log in logs):
            yield f"{one.run_id}: who followed it saw other records than it has in the end"


def own_writes(history: History) -> Iterator[str]:
    """Who got a receipt and looks then sees at least what it says."""
    deleted = {log.run_id for log in history.logs if log.deleted}
    for seen in history.seen:
        if seen.replayed or seen.run_id in deleted:
            continue
        for called in history.called:
            operation = called.operation
            if isinstance(operation, ops.Signal) and operation.run == seen.run_id:
                for one in called.acknowledged:
                    if one.answered is not None and one.answered < seen.at and (one.answer.seq or 0) > seen.state.seq:
                        yield (
                            f"{seen.run_id}: record {one.answer.seq} was acknowledged at {one.answered}, "
                            f"and who looked at {seen.at} saw {seen.state.seq}"
                        )


def forks(history: History) -> Iterator[str]:
    """A fork has the past of its run, to the letter."""
    for log in history.logs:
        sources = [] if log.source is None else history.of(log.source)
        if len(sources) == 1 and log.past:
            ours, theirs = log.records[: log.past], sources[0].records[: log.past]
            if [(one.type, one.payload, one.at) for one in ours] != [(one.type, one.payload, one.at) for one in theirs]:
                yield f"{log.run_id} has another past than {log.source}, of which it is a fork"


CHECKS = followed, own_writes, forks
