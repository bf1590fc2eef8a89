"""The planned networks of a grid: its searches and the cells of its checked blocks, each once, and what is said of those that
stand there twice."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from orchestrator.grid.blocks import Block, check_block
from orchestrator.grid.context import Context
from orchestrator.grid.expand import expand
from orchestrator.grid.find import Find
from orchestrator.grid.hints import explained
from orchestrator.grid.only import Only
from orchestrator.grid.syntax.problems import Problem, Report
from sweepkit.console.words import counted
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.columns import Metric
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


class Carried(NamedTuple):
    """A metric on request that the store has of a network, and the clause of its row that says why it failed, if it did."""

    request: str
    metric: Metric | None
    """Its declaration; None if no network in the store has a value."""
    value: float | list[float | None] | None
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell, and the extras to save beside its row: some of curves, neurons, weights and metrics on request."""

    cell_id: str
    cell: Cell
    save: frozenset[str]
    carried: tuple[Carried, ...] = ()
    """Metrics whose stored values the new row takes over, because only other grids' files define them."""


def checked_block(item: Item, ctx: Context) -> tuple[list[Block], list[Problem]]:
    """The checked blocks of an item, and their problems."""
    own = Report()
    return check_block(item, replace(ctx, report=own)), own.problems


def problems_with(item: Item, given: Mapping[str, Item], *, ctx: Context) -> list[Problem]:
    """The problems of an item, and of its cells, when these values replace its axes."""
    group, problems = checked_block(item, replace(ctx, overrides=given))
    own = Report(problems)
    for block in group if not problems else []:
        deque(expand(block, own), maxlen=0)
    return own.problems


def planned_cells(
    blocks: list[list[Block]], ctx: Context, only: Only
) -> tuple[tuple[PlannedCell, ...], int, tuple[Search, ...], tuple[int, ...]]:
    """The cells of all blocks, each once; the number of cells equal to an earlier one; the searches; the fixed cells."""
    found: list[tuple[Item, list[Problem]]] = []
    planned: dict[str, PlannedCell] = {}
    merged = 0
    searches, fixed = Searches(), set()
    for group in blocks:
        if not all(block.is_sound for block in group):
            continue
        n_block, report = 0, Report()
        group = [block for block in group if not only.rules_out(block)]
        for block in group:
            for cell_id, cell in expand(block, report):
                n_block += 1
                if not only.keeps(block, cell):
                    continue
                if block.find:
                    searches.add(id(block), block.find, cell_id, cell)
                else:
                    fixed.add(cell_id)
                earlier = planned.get(cell_id)
                if earlier is None:
                    planned[cell_id] = PlannedCell(cell_id, cell, block.save)
                    continue
                merged += 1
                if not block.save <= earlier.save:
                    planned[cell_id] = replace(earlier, save=earlier.save | block.save)
        if group and not n_block and not report:
            exclude = next(item for block in group for item, _ in block.conditions)
            n = sum(block.count for block in group)
            report.at(exclude, f"exclude leaves nothing of this block's {counted(n, 'cell')}")
        if report:
            found.append((group[0].place, report.problems))
    ctx.report.extend(explained(found, ctx.overrides, partial(problems_with, ctx=ctx)))
    if any(blocks) and not ctx.report:
        only.report(bool(planned), ctx.report)
    place = {cell_id: i for i, cell_id in enumerate(planned)} if searches else {}
    wanted = range(len(planned)) if not searches else [place[cell_id] for cell_id in planned if cell_id in fixed]
    return tuple(planned.values()), merged, searches.made(place), tuple(wanted)
