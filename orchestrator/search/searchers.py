"""The searches of a running sweep: the cells that they ask for next, given the results in the store."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.grid.load import Grid
from orchestrator.grid.planned import Search
from orchestrator.search.bisection import Network, ThresholdSearch
from sweepkit.declarations.metrics import METRICS
from sweepkit.store.sql import literal
from sweepkit.store.store import Store
from sweepkit.store.views import Statuses, declared, fetch
from trainables.metrics import requested_metric

IDS_A_QUERY = 10_000
PLAN_EVERY_S = 60.0
HasEnded = Callable[[int], bool]
"""Tells whether this sweep is done with the cell at this position in the grid: it was trained, failed or was dropped."""


@dataclass
class Searching:
    """One search, its state, and the cells that it waits for."""

    search: Search
    state: ThresholdSearch
    awaited: dict[Network, int] = field(default_factory=dict)
    """Positions in the grid of the networks that the search waits for."""
    untrained: frozenset[int] = frozenset()
    """The positions among `awaited` whose cells still had to be trained when the search asked for them."""

    @classmethod
    def of(cls, search: Search) -> "Searching":
        """The search at its beginning."""
        find, rungs = search.find, search.rungs
        n_seeds = [len(cells) for cells in rungs.values()]
        return cls(search, ThresholdSearch(list(rungs), n_seeds, find.at, find.tolerance, find.falling, search.shared))

    @property
    def taken(self) -> set[int]:
        """Positions in the grid of the networks whose values the search has taken."""
        cells = list(self.search.rungs.values())
        return {cells[k][s] for k, values in self.state.values.items() for s in range(len(values))}

    def ask(self) -> None:
        """Await the networks that the search wants next."""
        cells = list(self.search.rungs.values())
        self.awaited = {(k, s): cells[k][s] for k, s in self.state.wanted()}


class Searchers:
    """All searches of a grid. They ask for cells; cells that are in the store count as trained."""

    def __init__(
        self,
        grid: Grid,
        store: Store,
        before: Statuses,
        missing: Callable[[Sequence[int]], list[int]],
        queued: Iterable[int] = (),
        most: int | None = None,
    ) -> None:
        """Start all searches of the grid.

        `before`: contents of the store at the start. `missing`: a function that picks the cells that wanted training then.
        `queued`: cells that are trained in any case. `most`: number of cells that the searches may ask for in all.
        """
        self.grid, self.store, self.before, self.missing, self.most = grid, store, before, missing, most
        self.all = [Searching.of(search) for search in grid.searches]
        self.asked: dict[int, None] = {}
        """Every cell that a search has wanted so far, trained or not."""
        self._queued = set(queued)
        self._known: dict[tuple[str, str], float | None] = {}
        """Values by metric and cell id, of cells that are stored and will not be trained again."""
        self._plan_written = -PLAN_EVERY_S

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def later(self) -> list[int]:
        """All cells that a search may ask for."""
        return sorted({i for s in self.all for cells in s.search.rungs.values() for i in cells})

    @property
    def open(self) -> list[Searching]:
        """Searches that are not at their end."""
        return [s for s in self.all if s.awaited]

    @property
    def n_open(self) -> int:
        """Number of searches that are not at their end."""
        return len(self.open)

    @property
    def n_void(self) -> int:
        """Number of searches that ended because too few networks gave a value."""
        return sum(s.state.state == "no values" for s in self.all)

    def describe(self) -> str:
        """`7 of 24 thresholds known`."""
        return f"{len(self.all) - self.n_open} of {len(self.all)} thresholds known"

    def start(self) -> list[int]:
        """The cells to train first. Searches go as far as the stored results take them."""
        for searching in self.all:
            searching.ask()
        return self._advance(self.all, lambda i: False)

    def cells_to_train(self, has_ended: HasEnded) -> list[int]:
        """The cells that the searches want next. `has_ended` tells which cells have ended, in this sweep or in another."""
        return self._advance([s for s in self.all if s.untrained and all(map(has_ended, s.untrained))], has_ended)

    def plan_is_due(self) -> bool:
        """Whether to write the plan again. Each plan is a file that every reader opens, so it is not written at every step."""
        due = time.monotonic() - self._plan_written >= PLAN_EVERY_S
        self._plan_written = time.monotonic() if due else self._plan_written
        return due

    def _advance(self, ready: Sequence[Searching], has_ended: HasEnded) -> list[int]:
        """Advance the searches until each needs a network that is not trained yet. Returns those networks not queued before."""
        found: dict[int, None] = {}
        while ready:
            wanting_of = [self.missing(list(s.awaited.values())) for s in ready]
            self._look_up(ready, wanting_of, has_ended)
            further = []
            for s, wanting in zip(ready, wanting_of, strict=True):
                self.asked |= dict.fromkeys(s.awaited.values())
                s.untrained = frozenset(i for i in wanting if not (has_ended(i) or self._is_known(i, s)))
                found |= dict.fromkeys(i for i in s.awaited.values() if i in s.untrained and i not in self._queued)
                if s.untrained or not s.awaited:
                    continue
                metric = s.search.find.metric
                s.state.told({n: self._known.get((metric, self._id(i))) for n, i in s.awaited.items()})
                s.ask()
                further.append(s)
            ready = further
        cells = list(found)
        if self.most is not None:
            cells, self.most = cells[: self.most], max(0, self.most - len(cells))
        self._queued.update(cells)
        return cells

    def _is_known(self, i: int, searching: Searching) -> bool:
        """Whether the store now has the value of a cell that wanted training, because another sweep has trained it."""
        return (searching.search.find.metric, self._id(i)) in self._known

    def _look_up(self, searches: Sequence[Searching], wanting_of: Sequence[list[int]], has_ended: HasEnded) -> None:
        """Read the values of awaited cells from the store, by metric, except of cells that are about to be trained again."""
        ids: dict[str, list[str]] = {}
        for s, wanting in zip(searches, wanting_of, strict=True):
            again = {i for i in wanting if self._id(i) in self.before and not has_ended(i)}
            ids.setdefault(s.search.find.metric, []).extend(self._id(i) for i in s.awaited.values() if i not in again)
        for metric, wanted in ids.items():
            unknown = [c for c in dict.fromkeys(wanted) if (metric, c) not in self._known]
            self._known |= {(metric, c): value for c, value in values(self.store.results, metric, unknown).items()}

    def _id(self, i: int) -> str:
        return self.grid.cells[i].cell_id


def values(results: str, metric: str, cell_ids: Sequence[str]) -> dict[str, float | None]:
    """The metric of each cell that is stored and trained, by cell id; None if it is not a finite number."""
    found: dict[str, float | None] = {}
    if metric not in METRICS and metric not in declared(results):
        return found  # no stored cell has this metric
    sql = (METRICS[metric] if metric in METRICS else requested_metric(metric).metric).sql
    for k in range(0, len(cell_ids), IDS_A_QUERY):
        ids = ", ".join(map(literal, cell_ids[k : k + IDS_A_QUERY]))
        value = f"CASE WHEN isfinite({sql}) THEN {sql} END"
        found |= dict(fetch(results, f"SELECT cell_id, {value} FROM cells WHERE status = 'ok' AND cell_id IN ({ids})"))
    return found
