"""An application with an effect whose handler blocks its thread and never returns."""

import threading

import msgspec

from looms import Event, Module, Reduced, Started, State, invoke, step

calls = Module("calls")
modules = [calls]


class Call(msgspec.Struct, frozen=True):
    pass


@calls.event("answered")
class Answered(Event):
    pass


class Waiting(State):
    pass


@calls.effect("call")
def call(request: Call) -> Answered:
    threading.Event().wait()
    return Answered()


@calls.reducer("caller", state=Waiting)
def caller(state: Waiting, event: Started[None] | Answered) -> Reduced[Waiting]:
    return step(state, invoke(call, Call())) if isinstance(event, Started) else state
