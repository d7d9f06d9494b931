"""What a turn sends to other runs: into their durable inboxes, in the commit of the turn itself."""

from typing import TYPE_CHECKING

from looms.actors import publishing
from looms.reducers.entries import Entry
from looms.reducers.items import Delivery, Letter, SignalReturned
from looms.reducers.wire import WirePublish, WireSignal
from looms.snapshots import heads

if TYPE_CHECKING:
    from looms.actors.cell import Cell
    from looms.actors.group import Group


def send(group: "Group", cell: "Cell", entries: list[Entry]) -> None:
    """Send what the records of a run ask to be sent."""
    run_id, own = cell.run.run_id, cell.head.number
    for entry in entries:
        for thread, _, wires in entry.more.decisions:
            for wire in wires:
                if not isinstance(wire, WireSignal | WirePublish):
                    continue
                letter = Letter(wire.type, wire.version, bytes(wire.payload))
                item = Delivery((letter,), "run", sender=(run_id, entry.seq), sender_thread=thread)
                if isinstance(wire, WirePublish):
                    for waiting, target in publishing.waiting_for(group, letter):
                        group.message(target, waiting, item)
                    continue
                number = heads.number_of(group.reading, wire.run_id)
                if number is not None:
                    group.message(wire.run_id, number, item)
                else:
                    why = f"there is no run {wire.run_id}"
                    group.message(run_id, own, SignalReturned(entry.seq, thread, wire.run_id, wire.type, why))
