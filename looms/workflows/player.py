"""Playing a workflow: its coroutines are sent what the journal holds, until they wait for what it does not hold yet.

The same code plays a workflow live and again. What it asks for is compared with the journal as far as that goes; what
is asked behind its end is new. So a workflow that was put away, or whose process ended, comes to the very place where
it was, and what it asked for there is not asked twice.

No event loop runs here. Whatever a coroutine awaits that is not a ``Thing`` of this player is refused.
"""

from collections import deque
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from random import Random
from types import CodeType, FrameType
from typing import Any, TypeVar

from looms.reducers.errors import LoomsError
from looms.reducers.ids import checked_id
from looms.reducers.instructions import Cancel, Instruction
from looms.workflows import chunks
from looms.workflows.awaiting import asked_for_a_loop, awaited_by
from looms.workflows.errors import Diverged, DuplicateKey, NotDurable
from looms.workflows.journal import AT_ONCE, CANCELLING, Asked, AskedStep, Journal
from looms.workflows.off_loop import off_loop
from looms.workflows.outcomes import Outcome, Raised, Value
from looms.workflows.seen_states import SeenStates
from looms.workflows.silent import silence, silent_generators
from looms.workflows.step import Step
from looms.workflows.things import Branch, Thing

T = TypeVar("T")


class Player:
    """Plays one generation of a workflow.

    Args:
        journal: what is recorded; it is played up to there at first.
        again: what was asked then, where what is asked is to be compared with that alone, and not told.

    Attributes:
        journal: what is recorded; what has been asked since is not in it yet.
        live: what happens now is new, and not played again.
        now: the time of the record that led here.
        seen: the states of stores that it has seen last.
    """

    def __init__(self, journal: Journal, *, again: Asked | None = None) -> None:
        self.journal = journal
        self.again = again
        self.live = not journal.asked
        self.now = _moment(journal.began)
        self._recorded = chunks.count(journal.asked)
        self._count = 0  # of the steps that were asked
        self._open: dict[int, Step[Any]] = {}  # those that have not ended, by place
        self._settled = 0
        self._keys: set[str] = set()
        self._names: dict[str, int] = {}
        self._places: dict[tuple[CodeType, int], str] = {}  # of steps that may have none, by where they are made
        self._versions: dict[str, int] = dict(journal.versions)
        self.seen = SeenStates()
        self._chance = Random(journal.seed)
        self._branches: dict[Coroutine[Any, Any, Any], Branch[Any]] = {}  # those that have not ended
        self._ready: deque[Branch[Any]] = deque()
        self._root: Branch[Any] | None = None
        self._playing = False
        self._problem: LoomsError | None = None
        self._decided: list[Instruction] = []
        self._asked: list[AskedStep] = []
        self._called_off: list[int] = []
        self._new_versions: dict[str, int] = {}

    # What the workflow's context asks

    @property
    def run_id(self) -> str:
        """The run's id, by now."""
        return next(id for since, id in reversed(self.journal.ids) if since <= self._settled)

    @property
    def chance(self) -> Random:
        """The generation's random numbers.

        Raises:
            RuntimeError: somebody else than the workflow wants one, so that the next one of the workflow would differ.
        """
        self._check_playing()
        return self._chance

    def key(self, name: str, given: str | None) -> str:
        """The key of a new step.

        Raises:
            DuplicateKey: another step has it.
            InvalidInput: it is not 1 to 255 bytes of UTF-8.
            RuntimeError: it is not the workflow that makes the step.
        """
        self._check_playing()
        if given is None:
            self._names[name] = self._names.get(name, 0) + 1
            key = f"{name}#{self._names[name]}"
        else:
            key = checked_id(given, f"the key= of {name}")
        if key in self._keys:
            raise self.stopped(DuplicateKey(key))
        self._keys.add(key)
        return key

    def key_at(self, name: str, caller: FrameType) -> str:
        """The key of a new step that is given none, of which there may be one from each place in the code.

        Raises:
            DuplicateKey: the place was reached before.
        """
        place = (caller.f_code, caller.f_lasti)
        if place in self._places:
            raise self.stopped(DuplicateKey(self._places[place]))
        key = self._places[place] = self.key(name, None)
        return key

    def version(self, change_id: str, latest: int) -> int:
        """The version of a change that this generation goes by."""
        self._check_playing()
        checked_id(change_id, "the change_id")
        if change_id not in self._versions:
            recorded = self.again is None or change_id in self.again.versions
            answer = latest if self.again is None else self.again.versions.get(change_id, 1)
            self._versions[change_id] = answer if self.live else 1
            if self.live and recorded:
                self._new_versions[change_id] = answer
        return self._versions[change_id]

    def own(self, thing: Thing[T]) -> Thing[T]:
        """A thing, when it is one of this generation.

        Raises:
            NotDurable: nobody would ever settle it here.
        """
        if thing.player is not self:
            name = f"step {thing.key}" if isinstance(thing, Step) else type(thing).__name__.lower()
            raise self.stopped(NotDurable(f"{name} of another run or generation"))
        return thing

    def branch(self, coroutine: Coroutine[Any, Any, T]) -> Branch[T]:
        """The branch that a coroutine is; the same one where it is given twice."""
        branch = self._branches.get(coroutine)
        if branch is None:
            branch = self._branches[coroutine] = Branch(self, coroutine)
            branch.when_settled(lambda: self._branches.__delitem__(coroutine))
        return branch

    def ask(self, step: Step[Any]) -> None:
        """A step begins: it is the next of the journal, or new.

        Raises:
            Diverged: the journal has another one there.
        """
        step.place = place = self._count
        if place < self._recorded:
            recorded = chunks.at(self.journal.asked, place)
            if (recorded.kind, recorded.key) != (step.kind, step.key):
                raise self._diverged(place, f"{recorded.kind} {recorded.key}", f"{step.kind} {step.key}")
        elif not self.live:
            raise self._diverged(place, "nothing", f"{step.kind} {step.key}")
        else:
            self._asked.append(AskedStep(step.kind, step.key, step.name))
            self._decided.append(step.instruction)
        self._count += 1
        if step.kind not in AT_ONCE:
            self._open[place] = step

    def call_off(self, step: Step[Any]) -> None:
        """A step is not wanted any more.

        Raises:
            Diverged: it was, when the journal was written.
        """
        assert step.place is not None
        del self._open[step.place]
        if self.live:
            self._called_off.append(step.place)
            self._decided.append(Cancel(step.key))
        elif chunks.at(self.journal.asked, step.place).status != "cancelled":
            raise self._diverged(step.place, "nothing", f"cancel {step.key}")

    def stopped(self, problem: LoomsError) -> LoomsError:
        """Note that the program is wrong, whatever the workflow makes of the error; to be raised."""
        self._problem = self._problem or problem
        return self._problem

    def resume(self, branch: Branch[Any]) -> None:
        """Let a branch go on, when those before it have had their turn."""
        self._ready.append(branch)

    # What the thread's reducer asks

    @property
    def ended(self) -> Outcome | None:
        """How the workflow ended, once it has."""
        return None if self._root is None else self._root.outcome

    def open(self, place: int) -> Step[Any] | None:
        """The step at a place, while it has not ended."""
        return self._open.get(place)

    def taken(self) -> tuple[Asked, list[Instruction]]:
        """What has been asked since this was called last: for the journal, and as instructions."""
        asked = Asked(tuple(self._asked), tuple(self._called_off), self._new_versions)
        decided = self._decided
        self._decided, self._asked, self._called_off, self._new_versions = [], [], [], {}
        return asked, decided

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Begin, and play up to where the journal ends.

        Raises:
            LoomsError: the workflow cannot go on with this code.
        """
        self._root = self.branch(coroutine)
        self._root.begin()
        self._play()
        for settled in chunks.things(self.journal.settled):
            self.settle(settled.place, settled.at)
        if self._recorded:
            self._check_that_it_led_here()
        self.live = True

    def settle(self, place: int, at: int) -> None:
        """Go on with a step that has ended, or with the wish that the run end; the journal has it already.

        Args:
            place: of the step, or ``CANCELLING``.
            at: when, in milliseconds since 1970.

        Raises:
            LoomsError: the workflow cannot go on with this code.
        """
        self.now = _moment(at)
        self._settled += 1
        for since, id in self.journal.ids:
            if since == self._settled:  # a fork goes its own way: what is made of chance is unlike that of the run
                self._chance = Random(f"{self.journal.seed} {id}")
        if place == CANCELLING:
            assert self._root is not None
            self._root.cancel(self.journal.cancelled or "")
        elif place >= self._count:
            raise self._diverged_at_the_end()
        else:
            step = self._open.pop(place)
            try:
                outcome = step.outcome_of(chunks.at(self.journal.asked, place))
            except LoomsError as error:
                raise self.stopped(error) from error
            step.settle(outcome)
        self._play()

    def _play(self) -> None:
        self._playing = True
        try:
            with silent_generators():
                off_loop(self._play_all)
        finally:
            self._playing = False

    def _play_all(self) -> None:
        while self._ready:
            self._go_on(self._ready.popleft())

    def _go_on(self, branch: Branch[Any]) -> None:
        """Let a branch run to its next await, or to its end."""
        outcome = branch.next_outcome()
        try:
            awaited = _send(branch.coroutine, outcome)
        except StopIteration as ended:
            self._check()
            branch.settle(Value(ended.value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is how the branch ends
            self._check(error)
            branch.settle(Raised(error))
        else:
            silence(branch.coroutine)
            self._check()
            if not isinstance(awaited, Thing):
                raise self.stopped(NotDurable(awaited_by(branch.coroutine)))
            branch.wait(self.own(awaited))

    def _check(self, error: BaseException | None = None) -> None:
        """Raise what is wrong with the program, also where the workflow caught it."""
        if self._problem is None and error is not None and (asked := asked_for_a_loop(error)):
            self._problem = NotDurable(asked)
            raise self._problem from error
        if self._problem is not None:
            raise self._problem

    def _check_playing(self) -> None:
        if not self._playing:
            raise RuntimeError("ctx is for the workflow itself; give a step what it needs as an argument")

    def _check_that_it_led_here(self) -> None:
        """Compare what the code came to with what the journal ends with.

        Raises:
            Diverged: another code wrote it.
        """
        if self._count < self._recorded:
            raise self._diverged_at_the_end()
        for place, step in self._open.items():
            if chunks.at(self.journal.asked, place).status == "cancelled":
                raise self._diverged(place, f"cancel {step.key}", "nothing")
        if self.ended is not None:
            raise self._diverged(self._count, "nothing", "end")

    def _diverged_at_the_end(self) -> LoomsError:
        recorded = chunks.at(self.journal.asked, self._count)
        return self._diverged(
            self._count, f"{recorded.kind} {recorded.key}", "nothing" if self.ended is None else "end"
        )

    def _diverged(self, place: int, recorded: str, asked: str) -> LoomsError:
        return self.stopped(Diverged(self.run_id, place + 1, recorded, asked))


def _send(coroutine: Coroutine[Any, Any, Any], outcome: Outcome) -> Any:
    """Let a coroutine go on with what it awaited, and return what it awaits next."""
    return coroutine.throw(outcome.error) if isinstance(outcome, Raised) else coroutine.send(outcome.value)


def _moment(at: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
