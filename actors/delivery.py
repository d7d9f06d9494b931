"""What a turn sends to other runs: into their durable inboxes, in the commit of the turn itself."""

from looms.actors.cell import Cell
from looms.actors.group import Group
from looms.actors.waiting import waiting_for
from looms.reducers.entries import Entry
from looms.reducers.items import Delivery, Item, Letter, SignalReturned
from looms.reducers.wire import WirePublish, WireSignal
from looms.snapshots import heads
from looms.snapshots.errors import StoreFormatError


def send(group: Group, cell: Cell, entries: list[Entry]) -> None:
    """Send what the records of a run ask to be sent."""
    for entry in entries:
        for thread, _, wires in entry.more.decisions:
            for wire in wires:
                if isinstance(wire, WireSignal | WirePublish):
                    _send(group, cell, entry.seq, thread, wire)


def send_back(group: Group, item: Item, run_id: str, reason: str) -> None:
    """Tell the thread that sent a signal that it could not be delivered to a run."""
    if isinstance(item, Delivery) and item.sender is not None and item.sender_thread is not None:
        sender, seq = item.sender
        number = heads.number_of(group.reading, sender)
        if number is not None and item.sender_number in (None, number):  # None: it was sent elsewhere, and imported
            for letter in item.letters:
                group.message(sender, number, SignalReturned(seq, item.sender_thread, run_id, letter.type, reason))


def _send(group: Group, cell: Cell, seq: int, thread: str, wire: WireSignal | WirePublish) -> None:
    letter, sender = Letter(wire.type, wire.version, bytes(wire.payload)), (cell.run.run_id, seq)
    if isinstance(wire, WirePublish):
        for run_id, number in waiting_for(group, letter).items():
            group.message(run_id, number, Delivery((letter,), "run", sender=sender))
        return
    item = Delivery((letter,), "run", sender=sender, sender_number=cell.head.number, sender_thread=thread)
    try:
        target = heads.number_of(group.reading, wire.run_id)
    except StoreFormatError as error:
        send_back(group, item, wire.run_id, f"run {wire.run_id} cannot be found: {error}")
        return
    if target is not None:
        group.message(wire.run_id, target, item)
    else:
        send_back(group, item, wire.run_id, f"there is no run {wire.run_id}")
