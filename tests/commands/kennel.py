"""An application whose code is another one as the environment says: what `looms verify` is for."""

import os

from looms import Event, Module, Reduced, Started, State, emit, replace, step

CODE = os.environ.get("KENNEL", "")

kennel = Module("kennel")


@kennel.event("visited")
class Visited(Event):
    number: int


@kennel.event("alarmed")
class Alarmed(Event):
    numbers: frozenset[str]


class Dog(State):
    barks: int = 0


@kennel.reducer("dog", state=Dog)
def dog(state: Dog, event: Started[None] | Visited) -> Reduced[Dog]:
    match event:
        case Visited(number=5) if CODE == "dies":
            os._exit(7)
        case Visited(number=5) if CODE == "hangs":
            while True:
                pass
        case Visited(number=5) if CODE == "raises":
            raise LookupError("no such visitor")
        case Visited(number=number):
            barked = replace(state, barks=state.barks + (2 if CODE == "counts twice" else 1))
            calm = number < (5 if CODE == "is calm" else 4)
            return barked if calm else step(barked, emit(Alarmed(numbers=frozenset(map(str, range(9))))))
    return state


modules = [kennel]
nothing: list[Module] = []
