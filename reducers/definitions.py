"""Definitions: what can be started or spawned, and the functions that only read."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from looms.reducers.annotations import NOTHING_SAID, check_plain, handled, parameters
from looms.reducers.calls import Call
from looms.reducers.codec import Codec, Unfit, declared
from looms.reducers.errors import InvalidInput, ModuleError
from looms.reducers.events import Event, checked_version, event_type
from looms.reducers.instructions import Instruction, Reduced, Step
from looms.reducers.looking import Looker
from looms.reducers.schemas import fingerprint
from looms.reducers.state import State

S = TypeVar("S", bound=State)
I = TypeVar("I")  # noqa: E741 - the input
O = TypeVar("O")  # noqa: E741 - the output


class ReduceContext(msgspec.Struct, frozen=True):
    """What a reducer may know beside the state and the event; all of it is the same on replay."""

    run_id: str
    thread: str
    seq: int
    at: int  # milliseconds since 1970: the event's time
    wait: str | None = None  # the id of the wait that this event satisfied
    recorded: tuple[Instruction, ...] | None = None  # on a replay: what was decided here
    effect: str | None = None  # what this thread called the effect that the event came from
    returned: bool = False  # its handler returned the event; else it emitted it on the way
    final: bool = False  # that effect is over with this event
    again: tuple[Instruction, ...] | None = None  # what was decided before, where it is only to be compared


class Definition(Generic[S, I, O]):
    """A reducer under a name: it can be started, spawned, and called like the function it is.

    Made by ``@module.reducer``.

    Attributes:
        name: the full name, ``module.name``.
        state: the class of its state.
        version: what the user says of the state's meaning; stored states of another version are folded anew.
        handles: the classes of the events that it takes.
        takes_any: it may wait for any event, and takes any that is addressed to it.
        shared: its state is data that many share: its runs take patches, and neither events nor a cancellation.
    """

    takes_any = False
    shared = False
    _called = "reducer"
    _begins_empty = True  # so its state's fields all have defaults
    _objects = False  # an `object` in the types of its input and output is any plain data

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        state: type[S],
        input: Any = NOTHING_SAID,
        output: Any = NOTHING_SAID,
        version: int = 1,
    ) -> None:
        where = f"{self._called} {name}"
        self.name = name
        self.function = function
        self.state = checked_state(state, where, begins_empty=self._begins_empty)
        self.version = checked_version(version, where)
        self.takes_context, annotation = _second_parameter(function, where)
        self.handles, started_with = handled(annotation, where)
        self.states: Codec[S] = declared(state, f"the state of {where}")
        if NOTHING_SAID not in (input, started_with) and started_with not in (input, Any):
            raise ModuleError(f"{where}: input={input!r}, and the annotation says Started[{started_with!r}]")
        given = input if input is not NOTHING_SAID else started_with
        self.inputs: Codec[I] = declared(
            None if given is NOTHING_SAID else given, f"the input of {where}", objects=self._objects
        )
        self.outputs: Codec[O] = declared(
            Any if output is NOTHING_SAID else output, f"the output of {where}", objects=self._objects
        )
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", name)
        self.__wrapped__ = function

    @cached_property
    def fingerprint(self) -> str:
        """What tells a stored state of today's from one that other code folded.

        A new version of an event counts: its upcast may make other values of what was folded before.
        """
        kinds = [event_type(cls) for cls in self.handles]
        return fingerprint(self.state, self.version, {kind.name: kind.version for kind in kinds if kind.version > 1})

    def __call__(self, state: S, event: Event, ctx: ReduceContext | None = None) -> Reduced[S]:
        """What the function answers; ``ctx`` is made up when it takes one and none is given."""
        if not self.takes_context:
            return self.function(state, event)  # type: ignore[no-any-return]
        return self.function(state, event, ctx or ReduceContext("", "root", 1, 0))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<definition {self.name}>"

    def beginning(self) -> Any:
        """The state of a thread that has taken nothing yet; None where it has none before its start."""
        return self.state() if self._begins_empty else None

    def reduce(self, state: S, event: Event, ctx: ReduceContext | None) -> Step[S]:
        """The function's answer as a step, checked to be one of this state; ``ctx`` where it takes one.

        Raises:
            TypeError: the function answered with something else.
        """
        answer = self.function(state, event, ctx) if self.takes_context else self.function(state, event)
        answered: Step[S] = answer if isinstance(answer, Step) else Step(answer)
        if type(answered.state) is not self.state:
            raise TypeError(
                f"{self.name} answered with {_kind(answered.state)} instead of a {self.state.__name__} "
                f"on {type(event).__name__}; return the state, also where nothing changes"
            )
        return answered

    def call(self, state: S, thread: str, id: str) -> Call | None:
        """What a thread of this kind has called under an id; None where that is over.

        Raises:
            LoomsError: its code does not lead there.
        """
        raise ModuleError(f"{self.name} has no functions of its own called")

    def look(self, state: S, thread: str, id: str) -> Looker | None:
        """What a thread of this kind looks for by the wait of an id; None where that is over.

        Raises:
            LoomsError: its code does not lead there.
        """
        raise ModuleError(f"{self.name} looks for nothing by itself")

    def pack_input(self, value: Any) -> tuple[bytes, I]:
        """An input's bytes, and the input as it will be read.

        Raises:
            InvalidInput: it does not fit.
        """
        try:
            return self.inputs.pack(value)
        except Unfit as error:
            raise InvalidInput(f"the input of {self.name}: {error}") from error

    def input_from_json(self, data: bytes) -> I:
        """The input that some JSON says.

        Raises:
            InvalidInput: it is no JSON, or does not fit.
        """
        try:
            return self.inputs.from_json(data)
        except Unfit as error:
            raise InvalidInput(f"the input of {self.name}: {error}") from error


class Projection(Generic[S]):
    """A reducer without instructions, for reading. Made by ``@module.projection``."""

    def __init__(self, name: str, function: Callable[..., Any], *, state: type[S]) -> None:
        self.name = name
        self.function = function
        self.state = checked_state(state, f"projection {name}")
        takes_context, annotation = _second_parameter(function, f"projection {name}")
        if takes_context:
            raise ModuleError(f"projection {name}: it takes a state and an event, no context")
        self.handles, _ = handled(annotation, f"projection {name}")
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, state: S, event: Event) -> S:
        """What the function answers."""
        return self.function(state, event)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<projection {self.name}>"


def checked_state(state: Any, where: str, *, begins_empty: bool = True) -> Any:
    """A class of states: a frozen ``State``.

    Args:
        state: the class.
        where: what it is for, for errors.
        begins_empty: a thread begins with one that is made of nothing, so its fields all have defaults.

    Raises:
        ModuleError: it is not that.
    """
    if not (isinstance(state, type) and issubclass(state, State)):
        raise ModuleError(f"{where}: state={state!r} is not a subclass of looms.State")
    if not state.__struct_config__.frozen:
        raise ModuleError(f"{where}: {state.__name__} is not frozen; a reducer answers with a new state")
    try:
        if begins_empty:
            state()
    except TypeError as error:
        raise ModuleError(f"{where}: {state.__name__}() must be where a thread begins: {error}") from error
    return state


def _second_parameter(function: Callable[..., Any], where: str) -> tuple[bool, Any]:
    """Whether there is a third parameter, and the annotation of the second.

    Raises:
        ModuleError: it is not a plain function of a state, an event and perhaps a context.
    """
    check_plain(function, where)
    given = parameters(function, where)
    if len(given) not in (2, 3) or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given):
        raise ModuleError(f"{where}: it should take (state, event) or (state, event, ctx)")
    return len(given) == 3, given[1].annotation


def _kind(value: Any) -> str:
    return "nothing (None)" if value is None else f"a {type(value).__name__}"
