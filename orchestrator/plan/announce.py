"""The line that announces a sweep, and the outlook of its searches."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.grid.load import Grid
from orchestrator.grid.planned import PlannedCell
from orchestrator.plan.missing import why_again
from orchestrator.plan.packing import SMALLEST_PACK_S, PackQueue
from orchestrator.search.rehearsal import places, rehearsed
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


STEP_S = 0.5
"""Seconds that a step of a search costs beside its training: its pack is handed over, written, and read again."""
REHEARSED = 12
"""Most searches that are rehearsed for an outlook; they stand for the others."""


class Outlook(NamedTuple):
    """The work that unfinished searches will ask for, their first networks among it. It is an estimate: nobody knows yet where
    the thresholds lie, nor how much networks differ."""

    n_searches: int
    networks: int
    """Networks that are left, as rehearsals take them; grids of other tasks took half to twice as many."""
    wall_s: float
    """Seconds from the command to its end."""
    most_networks: int
    """Networks at most: all rungs with all seeds."""

    def describe(self) -> str:
        """The outlook in words, for display beside a forecast of the next networks."""
        several = "es" * (self.n_searches > 1)
        return (
            f"{self.n_searches} search{several} will ask for about {self.networks} networks more "
            f"({duration(self.wall_s)} to the end), at most {self.most_networks}."
        )


def outlook(searchers: Searchers, queue: PackQueue, wall_s: float) -> Outlook:
    """The outlook of the open searches, from the costs that the queue predicts. `wall_s`: the forecast of what is asked for by
    now, which a grid may want beside its searches."""
    every = searchers.open
    if not every:
        return Outlook(0, 0, wall_s, 0)
    chosen = [every[k * len(every) // min(len(every), REHEARSED)] for k in range(min(len(every), REHEARSED))]
    networks, work, longest = 0, 0.0, 0.0
    for seed, (searching, place) in enumerate(zip(chosen, places(len(chosen)), strict=True)):
        cells = list(searching.search.rungs.values())
        alone = 0.0
        for step in rehearsed(searching.state, place, seed):
            seconds = [queue.cell_seconds(cells[k][s]) for k, s in step]
            slots = queue.machine.throughput[queue.choice(cells[step[0][0]][0])[1]]
            networks += len(step)
            work += sum(seconds) / slots
            together = sum(seconds)  # one pack, unless that is too much for one
            alone += STEP_S + (together if together <= SMALLEST_PACK_S else max(*seconds, together / slots))
        longest = max(longest, alone)
    share = len(every) / len(chosen)
    cells_of_all = {i for searching in every for of_rung in searching.search.rungs.values() for i in of_rung}
    taken = {i for searching in every for i in searching.taken}
    in_all = min(round(share * networks), len(cells_of_all - taken))
    start_s = queue.cost.rates.start_s
    return Outlook(len(every), in_all, max(start_s + share * work, start_s + longest, wall_s), len(cells_of_all - taken))
