"""The line that announces a sweep, and the outlook of its searches."""

from collections import Counter
from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

from orchestrator.grid.load import Grid
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.missing import why_again
from orchestrator.plan.packing import PackQueue
from orchestrator.search.bisection import FIRST_SEEDS, usual_rungs
from orchestrator.search.searchers import Searchers
from sweepkit.console.words import duration
from sweepkit.store.views import Statuses


def announcement(grid: Grid, searchers: Searchers, todo: list[int], statuses: Statuses) -> str:
    """The sweep in one line: `eq3: 198 cells, 0 in the store, 198 to train`."""
    wanted = dict.fromkeys([*grid.fixed, *searchers.asked])
    there = sum(grid.cells[i].cell_id in statuses for i in wanted)
    anew = _again([grid.cells[i] for i in todo if grid.cells[i].cell_id in statuses], statuses)
    part = "" if grid.source is None or not grid.source.only else ", chosen by --only"
    if not searchers:
        merged = f" ({grid.merged} equal ones merged)" if grid.merged else ""
        return f"{grid.sweep}: {len(grid.cells)} cells{merged}{part}, {there} in the store, {len(todo)} to train{anew}"
    finds = ", ".join(dict.fromkeys(search.find.describe() for search in grid.searches))
    besides = f" and {len(grid.fixed)} cells" if grid.fixed else ""
    known = f", {n} known" if (n := len(searchers.all) - searchers.n_open) else ""
    thresholds = f"{len(searchers.all)} threshold{'s' * (len(searchers.all) > 1)} to find ({finds}){known}{besides}"
    first = " first" * (searchers.n_open > 0)
    return f"{grid.sweep}: {thresholds}{part}; {there} networks of these in the store, {len(todo)} to train{first}{anew}"


def _again(stored: Sequence[PlannedCell], statuses: Statuses) -> str:
    """How many stored networks are trained again, and why: `, 12 of them again: stored without sparsity`."""
    if not stored:
        return ""
    reasons = Counter(why_again(planned, statuses[planned.cell_id]) for planned in stored)
    del reasons[""]  # these lack nothing and are trained again because of --force
    told = [reason if n == len(stored) else f"{n} {reason}" for reason, n in reasons.most_common()]
    return f", {len(stored)} of them again" + (f": {', '.join(told)}" if told else "")


class Outlook(NamedTuple):
    """The work that unfinished searches may still ask for. It is an estimate: nobody knows yet where the thresholds lie."""

    n_searches: int
    bracket_networks: int
    """Networks to bracket the thresholds, if these may lie anywhere in their ranges."""
    bracket_wall_s: float
    most_networks: int
    """Networks at most: all rungs with all seeds. Narrow intervals take more seeds."""

    def describe(self) -> str:
        """The outlook in words, for display beside a forecast of the next networks."""
        several = "es" * (self.n_searches > 1)
        return (
            f"{self.n_searches} search{several} will ask for more. Locating the thresholds takes about "
            f"{self.bracket_networks} networks ({duration(self.bracket_wall_s)}); narrowing their intervals takes more, at most "
            f"{self.most_networks} in all."
        )


def outlook(searchers: Searchers, queue: PackQueue) -> Outlook:
    """The outlook of the open searches, from the costs that the queue predicts."""
    networks, seconds = 0, 0.0
    slots = queue.machine.throughput
    cells: set[int] = set()  # searches may have networks in common
    told: set[int] = set()
    for searching in searchers.open:
        rungs = searching.search.rungs
        usual = max(usual_rungs(len(rungs)) * FIRST_SEEDS - searching.state.n_networks, FIRST_SEEDS)
        networks += usual
        seconds += usual * mean(queue.cell_seconds(of_rung[0]) / slots[queue.choice(of_rung[0])[1]] for of_rung in rungs.values())
        cells.update(*rungs.values())
        told |= searching.taken
    return Outlook(searchers.n_open, networks, seconds, len(cells - told))
