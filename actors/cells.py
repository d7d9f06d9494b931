"""The cells in memory: those with work, and of the others the ones used last."""

from collections import OrderedDict
from itertools import islice

from looms.actors.cell import Cell


class Cells:
    """Cells by run id, oldest use first.

    Args:
        most: how many are kept that have no work.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._cells: OrderedDict[str, Cell] = OrderedDict()

    def get(self, run_id: str) -> Cell | None:
        """The cell of a run, if it is in memory; it counts as used now."""
        cell = self._cells.get(run_id)
        if cell is not None:
            self._cells.move_to_end(run_id)
        return cell

    def add(self, cell: Cell) -> None:
        """Put a cell into memory."""
        self._cells[cell.head.run_id] = cell
        self._cells.move_to_end(cell.head.run_id)

    def drop(self, run_id: str) -> None:
        """Let a cell go."""
        self._cells.pop(run_id, None)

    def trim(self) -> None:
        """Let those go that have not been used for longest, down to the bound; none whose turn is being committed."""
        over = len(self._cells) - self._most
        if over > 0:
            idle = (run_id for run_id, cell in self._cells.items() if not cell.busy)
            for run_id in list(islice(idle, over)):
                del self._cells[run_id]

    def __len__(self) -> int:
        return len(self._cells)
