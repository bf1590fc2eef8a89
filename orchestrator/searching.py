"""The searches of a sweep under way: what they ask for next, given what the store holds."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.measures import MEASURES
from analysis.selection import literal
from orchestrator.grid import Grid
from orchestrator.search import Search
from orchestrator.threshold_search import Network, ThresholdSearch
from store.store import Store
from store.views import fetch

IDS_A_QUERY = 10_000


@dataclass
class Searching:
    """One search, where it stands, and the cells that it waits for."""

    search: Search
    state: ThresholdSearch
    awaited: dict[Network, int] = field(default_factory=dict)
    """Positions in the grid."""

    @classmethod
    def of(cls, search: Search) -> "Searching":
        """At its beginning."""
        find, rungs = search.find, search.rungs
        n_seeds = [len(cells) for cells in rungs.values()]
        return cls(search, ThresholdSearch(list(rungs), n_seeds, find.at, find.tolerance, find.falling))

    def ask(self) -> None:
        """Await what the search wants next."""
        cells = list(self.search.rungs.values())
        self.awaited = {(k, s): cells[k][s] for k, s in self.state.wanted()}


class Searchers:
    """All searches of a grid: they ask for cells, and take those that the store has as trained."""

    def __init__(self, grid: Grid, store: Store, missing: Callable[[Sequence[int]], list[int]], most: int | None = None) -> None:
        """`missing`: which of these cells of the grid want training. `most`: cells to ask for in all."""
        self.grid, self.store, self.missing, self.most = grid, store, missing, most
        self.all = [Searching.of(search) for search in grid.searches]
        self.asked: dict[int, None] = {}
        """Every cell that a search has wanted so far, trained or not."""
        self._ended: set[int] = set()
        self._known: dict[tuple[str, str], float | None] = {}
        self.limited = False
        """Whether a search wants more than `most` allows."""

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def later(self) -> list[int]:
        """All cells that may still be asked for."""
        return sorted({i for s in self.all for cells in s.search.rungs.values() for i in cells})

    @property
    def n_open(self) -> int:
        """Searches that are not at their end."""
        return sum(bool(s.awaited) for s in self.all)

    def describe(self) -> str:
        """`7 of 24 thresholds known`."""
        return f"{len(self.all) - self.n_open} of {len(self.all)} thresholds known"

    def start(self) -> list[int]:
        """The cells to train first; searches go as far as what is stored takes them."""
        for searching in self.all:
            searching.ask()
        return self._advance(self.all)

    def cells_to_train(self, ended: set[int]) -> list[int]:
        """What the searches want now that these cells have ended, in this sweep or in another."""
        new = ended - self._ended
        if not new:
            return []
        self._ended |= new
        return self._advance([s for s in self.all if s.awaited and set(s.awaited.values()) <= self._ended])

    def _advance(self, ready: Sequence[Searching]) -> list[int]:
        """Take these searches on to where each needs a network that is not there; those networks."""
        found: dict[int, None] = {}
        while ready:
            self._look_up(ready)
            further = []
            for s in ready:
                self.asked |= dict.fromkeys(s.awaited.values())
                untrained = [i for i in self.missing(list(s.awaited.values())) if i not in self._ended]
                found |= dict.fromkeys(untrained)
                if untrained or not s.awaited:
                    continue
                metric = s.search.find.metric
                s.state.told({n: self._known.get((metric, self.grid.cells[i].cell_id)) for n, i in s.awaited.items()})
                s.ask()
                further.append(s)
            ready = further
        cells = list(found)
        if self.most is not None:
            self.limited |= len(cells) > self.most
            cells, self.most = cells[: self.most], max(0, self.most - len(cells))
        return cells

    def _look_up(self, searches: Sequence[Searching]) -> None:
        """Ask the store for the values of all cells that are awaited, by metric."""
        ids: dict[str, list[str]] = {}
        for s in searches:
            of_metric = ids.setdefault(s.search.find.metric, [])
            of_metric += [self.grid.cells[i].cell_id for i in s.awaited.values()]
        for metric, wanted in ids.items():
            unknown = [c for c in dict.fromkeys(wanted) if (metric, c) not in self._known]
            self._known |= {(metric, c): value for c, value in values(self.store.results, metric, unknown).items()}


def values(results: str, metric: str, cell_ids: Sequence[str]) -> dict[str, float | None]:
    """The metric of those of the cells that are stored and trained; None where it is not a finite number."""
    sql = MEASURES[metric].sql
    found: dict[str, float | None] = {}
    for k in range(0, len(cell_ids), IDS_A_QUERY):
        ids = ", ".join(map(literal, cell_ids[k : k + IDS_A_QUERY]))
        value = f"CASE WHEN isfinite({sql}) THEN {sql} END"
        found |= dict(fetch(results, f"SELECT cell_id, {value} FROM cells WHERE status = 'ok' AND cell_id IN ({ids})"))
    return found


def outcomes(all_searches: Sequence[Searching]) -> Mapping[str, int]:
    """How many searches ended how."""
    return Counter(s.state.state for s in all_searches)
