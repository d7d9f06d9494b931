"""Strides: the records that most of a long log is made of, folded without looking at each from all sides.

Such a record gives its event to the root, which answers with a state and asks for nothing. Folding it is one call of
the reducer, so what there is to know for that is prepared once: which bytes say that nothing else was decided, and by
the type of an event how its payload is decoded. Any other record ends the stride and is folded as `fold` does it; so is
one at which something goes wrong, so that the error is the same.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from looms.reducers.codec import encode
from looms.reducers.definitions import ReduceContext
from looms.reducers.entries import More
from looms.reducers.folded import ROOT, FoldedRun
from looms.reducers.instructions import Step
from looms.reducers.registry import Registry


class _Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record's bytes, decoded as far as a stride needs them."""

    run: int
    seq: int
    at: int
    type: str
    version: int
    origin: str
    payload: msgspec.Raw
    more: msgspec.Raw = msgspec.Raw(b"")


_decode = msgspec.msgpack.Decoder(_Row).decode


@cache
def plain_more(definition: str) -> More:
    """The envelope of a record whose event the root took, a thread of this definition, and asked for nothing."""
    return More(decisions=((ROOT, definition, ()),))


class Strides:
    """Folds the plain records of one run.

    Args:
        run: the run.
        code: today's code; without it, or without the run's definition in it, no record is plain.
    """

    def __init__(self, run: FoldedRun, code: Registry | None) -> None:
        self._run = run
        self._definition = code.definitions.get(run.definition) if code is not None and not run.forks else None
        if self._definition is not None and self._definition.takes_any:
            self._definition = None  # its state is folded from what was decided
        if code is not None and self._definition is not None:
            self._plain = msgspec.Raw(encode(plain_more(run.definition)))
            self._kinds = code.handled(run.definition)

    def fold(self, records: Sequence[bytes], start: int) -> int:
        """Fold what is plain of some consecutive records of the log, up to the first that is not.

        Args:
            records: the records; the one at ``start`` is the run's next.
            start: where to begin in them.

        Returns:
            Where it ended: the place of a record that is not plain, or how many there are.
        """
        run, definition = self._run, self._definition
        if definition is None or ROOT not in run.threads:
            return start
        number, seq, at, plain, kinds = run.number, run.seq, run.at, self._plain, self._kinds
        function, takes_context, expected = definition.function, definition.takes_context, definition.state
        before = state = run.root.state
        place = start
        try:
            for place in range(start, len(records)):
                row = _decode(records[place])
                known = kinds.get(row.type)
                if (
                    known is None
                    or row.more != plain
                    or row.version != known.version
                    or row.seq != seq + 1
                    or row.run != number
                ):
                    break
                event = known.decode(row.payload)
                if takes_context:
                    answer = function(state, event, ReduceContext(run.run_id, ROOT, row.seq, row.at, None, ()))
                else:
                    answer = function(state, event)
                if type(answer) is not expected:
                    if not isinstance(answer, Step) or type(answer.state) is not expected:
                        break
                    answer = answer.state
                state, seq, at = answer, row.seq, row.at
            else:
                place = len(records)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - it is raised again when the record is folded by itself
            pass
        if seq != run.seq:
            run.advance(seq, at)
            if state is not before:
                run.set_state(ROOT, state)
        return place
