"""What may come to a run: the items of a cell's inbox. Those that must outlive a process are stored as they are."""

from typing import Any, TypeAlias

import msgspec

from looms.reducers.codec import encode
from looms.reducers.entries import Origin
from looms.reducers.folded import EffectKey
from looms.reducers.open_waits import WaitKey


class Letter(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An event on its way: its registered name, the version it was written in, its payload."""

    type: str
    version: int
    payload: bytes


class Start(msgspec.Struct, frozen=True, tag_field="item", tag="start"):
    """The run begins. It is the first item of a run, and there is one."""

    input: bytes


class Delivery(msgspec.Struct, frozen=True, gc=False, tag_field="item", tag="delivery", omit_defaults=True):
    """Events sent to the run, all or none.

    Attributes:
        letters: the events.
        origin: ``signal``, or ``run`` when another run sent them.
        key: the sender's idempotency key, which stands for all of them.
        sender: the run and seq that sent them.
        sender_number: the sender's number: another run may have its id by now.
        sender_thread: the thread of the sender that is told when they cannot be delivered.
        to_caller: somebody waits for the answer, and gets the error when they are refused.
    """

    letters: tuple[Letter, ...]
    origin: Origin = "signal"
    key: str | None = None
    sender: tuple[str, int] | None = None
    sender_number: int | None = None
    sender_thread: str | None = None
    to_caller: bool = False


class EffectAnswer(msgspec.Struct, frozen=True, tag_field="item", tag="answer", omit_defaults=True):
    """What a handler returned, or emitted on the way.

    Attributes:
        effect: which effect.
        letters: the events.
        final: the effect is done.
        position: how many events its handler emitted before these, in this attempt.
        to_caller: an operator settles it, and gets the error when it is refused.
    """

    effect: EffectKey
    letters: tuple[Letter, ...]
    final: bool = True
    position: int = 0
    to_caller: bool = False


class EffectGaveUp(msgspec.Struct, frozen=True, tag_field="item", tag="gave_up", omit_defaults=True):
    """An effect used up its attempts; ``position`` as for an answer."""

    effect: EffectKey
    error: str
    message: str
    attempts: int
    position: int = 0


class TimerFired(msgspec.Struct, frozen=True, tag_field="item", tag="timer"):
    """The deadline of a wait is over."""

    wait: WaitKey


class GraceOver(msgspec.Struct, frozen=True, tag_field="item", tag="grace"):
    """The time that a run was given to end by itself is over."""

    seq: int


class ReleaseAsked(msgspec.Struct, frozen=True, tag_field="item", tag="release"):
    """Somebody asks for an effect to be run that is held."""

    effect: EffectKey


class SignalReturned(msgspec.Struct, frozen=True, tag_field="item", tag="returned"):
    """A signal that this run sent could not be delivered."""

    seq: int
    thread: str
    run_id: str
    type: str
    reason: str


class Look(msgspec.Struct, frozen=True, tag_field="item", tag="look", omit_defaults=True):
    """A wait that is met in a joint turn is to be looked at: it was just made, or what it had looked at has changed.

    Attributes:
        wait: which.
        since: its place among those that wait, from the first time that it had to; 0 before.
        brought: it waited somewhere else before its run was imported here, and what it looks at may come later.
    """

    wait: WaitKey
    since: int = 0
    brought: bool = False


class Found(msgspec.Struct, frozen=True, tag_field="item", tag="found", omit_defaults=True):
    """A joint turn found what a wait is for. It is of that turn alone, and never kept.

    Attributes:
        wait: which.
        value: what was found, plain data.
        sender: the run that was looked at, and the seq as of which.
    """

    wait: WaitKey
    value: Any
    sender: tuple[str, int] | None = None


class PatchAsked(msgspec.Struct, frozen=True, tag_field="item", tag="patch", omit_defaults=True):
    """Somebody changes the state of a run whose state is data that many share.

    Attributes:
        patch: what makes the new state of the old one, plain data.
        sender: the run and seq that asked for it, if a run did.
    """

    patch: Any
    sender: tuple[str, int] | None = None


class CancelAsked(msgspec.Struct, frozen=True, tag_field="item", tag="cancel"):
    """Somebody asks the run to end, within a grace in seconds; or has it ended at once, whatever its code says."""

    reason: str
    grace: float
    at_once: bool = False


Item: TypeAlias = (
    Start
    | Delivery
    | EffectAnswer
    | EffectGaveUp
    | TimerFired
    | GraceOver
    | ReleaseAsked
    | SignalReturned
    | CancelAsked
    | Look
    | Found
    | PatchAsked
)

_items: msgspec.msgpack.Decoder[Item] = msgspec.msgpack.Decoder(Item)


def pack_item(item: Item) -> bytes:
    """An item for the durable inbox."""
    return encode(item)


def unpack_item(data: bytes) -> Item:
    """An item from the durable inbox.

    Raises:
        msgspec.MsgspecError: the bytes are no item.
    """
    return _items.decode(data)
