"""Approval: a run asks a person, and goes on when somebody has decided.

From a workflow::

    decision = await approval.ask(ctx, f"spend {amount}?", id=f"spend-{amount}", timeout=3 * looms.DAY)

From a reducer: ``step(state, *approval.gate("spend 40?", id="spend-40"))``, which then gets ``approval.Decided``.
Whoever decides signals or publishes ``approval.decide(id, approved=True, by="ann")``. What a run has asked and nobody
decided is in the projection ``approval.pending``.
"""

import msgspec

from looms.module import Module
from looms.reducers.events import Event
from looms.reducers.instructions import Instruction, emit, wait
from looms.reducers.state import State
from looms.workflows.context import Workflow

module = Module("approval")


@module.event("asked")
class Asked(Event):
    """Somebody is to decide."""

    id: str
    question: str


@module.event("decided")
class Decided(Event):
    """Somebody has."""

    id: str
    approved: bool
    by: str = ""
    note: str = ""


@module.event("withdrawn")
class Withdrawn(Event):
    """Nobody needs to any more."""

    id: str


class Request(msgspec.Struct, frozen=True):
    """What somebody is to decide."""

    id: str
    question: str


class Pending(State):
    """What a run has asked and nobody has decided, oldest first."""

    requests: tuple[Request, ...] = ()


@module.projection("pending", state=Pending)
def pending(state: Pending, event: Asked | Decided | Withdrawn) -> Pending:
    """What a run waits to have decided."""
    others = tuple(request for request in state.requests if request.id != event.id)
    return Pending((*others, Request(event.id, event.question)) if isinstance(event, Asked) else others)


async def ask(ctx: Workflow, question: str, *, id: str, timeout: float | None = None) -> Decided:
    """Ask a person, from a workflow.

    Args:
        ctx: the workflow's context.
        question: what is to be decided.
        id: what tells the question from others; the decision names it.
        timeout: seconds to wait.

    Raises:
        TimeoutError: nobody has decided by then.
    """
    await ctx.emit(Asked(id=id, question=question), key=f"ask {id}")
    try:
        decided: Decided = await ctx.wait(Decided, match={"id": id}, timeout=timeout, key=f"decision on {id}")
    except TimeoutError:
        await ctx.emit(Withdrawn(id=id), key=f"withdraw {id}")
        raise
    return decided


def gate(question: str, *, id: str, timeout: float | None = None) -> tuple[Instruction, ...]:
    """What a reducer asks for to have a person decide: it gets ``Decided``, or ``TimedOut`` after so many seconds."""
    return emit(Asked(id=id, question=question)), wait(Decided, match={"id": id}, timeout=timeout, id=id)


def decide(id: str, *, approved: bool, by: str = "", note: str = "") -> Decided:
    """A decision, to be signalled to the run that asked or published.

    Args:
        id: of the question.
        approved: yes or no.
        by: who decided.
        note: why.
    """
    return Decided(id=id, approved=approved, by=by, note=note)
