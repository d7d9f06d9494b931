"""An application whose reducer does not return when it is told to spin."""

from looms import Event, Module, Reduced, Started, State, replace

wheels = Module("wheels")
modules = [wheels]


@wheels.event("turned")
class Turned(Event):
    spins: bool = False


class Count(State):
    count: int = 0


@wheels.reducer("wheel", state=Count)
def wheel(state: Count, event: Started[None] | Turned) -> Reduced[Count]:
    while isinstance(event, Turned) and event.spins:
        pass
    return replace(state, count=state.count + 1)
