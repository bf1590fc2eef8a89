"""The searches of a grid: one threshold for each combination of the other keys, and the cells that its search may ask for."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.grid.find import Find
from trainables.cell import Cell
from trainables.streams import stream_owner


@dataclass(frozen=True)
class Search:
    """One threshold to find. `keys`: the keys that its networks share, with their values.

    `rungs`: ascending values of the searched key, each with the positions of its cells in the grid, seed after seed.
    """

    find: Find
    keys: Mapping[str, Any]
    rungs: Mapping[float, tuple[int, ...]]
    shared: bool = False
    """Whether networks of one seed share random draws along the rungs."""


class Searches:
    """Collects, cell by cell, the cells of blocks that search."""

    def __init__(self) -> None:
        self._finds: dict[tuple[Any, ...], tuple[Find, dict[str, Any]]] = {}
        self._rungs: dict[tuple[Any, ...], dict[float, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
        self._first: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)  # at most two, of one seed and on two rungs

    def __bool__(self) -> bool:
        return bool(self._finds)

    def add(self, block: int, find: Find, cell_id: str, cell: Cell) -> None:
        """Add a cell of a block that searches."""
        # The value of the lazy gamma changes with d; its label does not, so that it tells which networks belong together.
        keys = cell.columns()
        x, seed = keys[find.axis], keys["seed"]
        told = keys | ({"gamma": cell.gamma_label} if cell.gamma_label else {})
        keys = {k: v for k, v in told.items() if k not in (find.axis, "seed")}
        which = (block, *keys.items())  # names and values: networks with other keys may have the same values
        self._finds.setdefault(which, (find, keys))
        self._rungs[which][x][seed] = cell_id
        first = self._first[which]
        if not first or (len(first) == 1 and first[0].seed == seed and len(self._rungs[which]) > 1):
            first.append(cell)

    def made(self, place: Mapping[str, int]) -> tuple[Search, ...]:
        """The searches, in the order of the grid. `place`: the position of each cell in the grid, by its id."""
        made = []
        for which, (find, keys) in self._finds.items():
            by_x = sorted(self._rungs[which].items())
            rungs = {x: tuple(place[c] for _, c in sorted(by_seed.items())) for x, by_seed in by_x}
            shared = len({stream_owner(cell) for cell in self._first[which]}) == 1
            made.append(Search(find, keys, rungs, shared))
        return tuple(made)
