"""One search for a threshold: which networks to train next, until L* (P*, ...) is known as narrowly as asked. Knows no grid.

| symbol | here | meaning |
|---|---|---|
| x | `ladder`, shape (k,) | values that the searched key may take, ascending, in steps of about 1 + tolerance |
| y | `values` | the measure of the networks trained at each x, seed after seed |
| x* | `threshold` | where the monotone curve through the means crosses the level (stats.thresholds) |

The search is a bisection that chooses the next value, and the number of seeds, from the variance between seeds. After each step
it resamples the means, and finds the bracket: the two rungs between which nearly all resampled curves cross. In the bracket it
splits the widest gap, and adds seeds to the rungs that could lie on either side of x*. At the end those that decide it have
LEAST_NETWORKS seeds, which a verdict takes. Each step depends on the values alone, so that a search that starts again asks for
the same networks in the same order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from sweepkit.stats import LEAST_NETWORKS, Threshold, clear_rise, deciding, threshold_of_means

FIRST_SEEDS = 3
"""Seeds that a rung gets at its start, and each further time. The spread of fewer is too uncertain to tell on which side of x*
the rung lies."""
SURE = 0.9
"""Share of the resampled curves that cross inside the bracket."""

MOST_VOID = 3
"""A search gives up when this many rungs have networks but too few values for a spread: something else is wrong."""

Reason = Literal["searching", "as asked", "all seeds used", "not reached", "already reached", "no values"]
Network = tuple[int, int]
"""The index of a rung, and the number of a seed on it."""


@dataclass
class ThresholdSearch:
    """The state of one search. Train the networks of `wanted` and pass their values to `told`, until `wanted` is empty.

    `state` then says why. `n_seeds[k]`: most networks at rung k. `tolerance`: half-width of the 95% interval of x*, as a share of
    it. The value of a network that failed or diverged is None; the search does not ask for it again. `shared`: whether networks
    of one seed share random draws along the ladder (`analysis.data.sharing`).
    """

    ladder: Sequence[float]
    n_seeds: Sequence[int]
    level: float
    tolerance: float
    falling: bool = False
    shared: bool = False
    state: Reason = "searching"
    values: dict[int, list[float | None]] = field(default_factory=dict)

    def wanted(self) -> list[Network]:
        """All networks to train in the next step; empty at the end."""
        rungs = self._next()
        found = []
        for k in rungs:
            first = len(self.values.get(k, ()))
            found += [(k, s) for s in range(first, min(first + FIRST_SEEDS, self.n_seeds[k]))]
        return found

    def told(self, values: Mapping[Network, float | None]) -> None:
        """Take the values of the networks that were wanted; None for a network that failed or diverged."""
        for (k, _), value in sorted(values.items()):
            self.values.setdefault(k, []).append(value)

    @property
    def n_networks(self) -> int:
        """Number of networks whose values the search has taken."""
        return sum(map(len, self.values.values()))

    @property
    def threshold(self) -> Threshold | None:
        """The threshold as far as it is known; None before there are values, and if too few networks have one."""
        rungs = self._measured()
        return self._threshold(rungs) if rungs and self.state != "no values" else None

    @property
    def goes_the_other_way(self) -> bool:
        """True if the values, between the first rung and the last that have some, clearly fall where they should rise, or rise
        where they should fall."""
        rungs = self._measured()
        return bool(rungs) and clear_rise(*self._summaries(rungs)) == (1 if self.falling else -1)

    @property
    def equal_grid(self) -> int:
        """Number of networks of a grid over the whole ladder, with the spacing and the seeds that the search has around x*."""
        rungs, found = self._measured(), self.threshold
        if found is None or not np.isfinite(found.value):
            return sum(self.n_seeds)
        at = [self.ladder[k] for k in rungs]
        right = int(np.searchsorted(at, found.value * (1 - 1e-12)))
        around = rungs[max(0, right - 1) : right + 1]
        n = max(len(self.values[k]) for k in around)
        spacing = self._width(around[0], around[-1])
        return n * (1 + round(self._width(0, len(self.ladder) - 1) / spacing)) if spacing else n * len(self.ladder)

    @property
    def _least(self) -> int:
        """Number of values that a rung needs to count: two, which have a spread; one if there is only one seed."""
        return min(2, max(self.n_seeds))

    def _measured(self) -> list[int]:
        """The rungs with enough values to count, ascending."""
        return sorted(k for k, values in self.values.items() if sum(v is not None for v in values) >= self._least)

    def _summaries(self, rungs: Sequence[int]) -> tuple[list[int], list[float], list[float]]:
        """Number, mean and sample standard deviation of the values at each rung."""
        seeds = [np.array([v for v in self.values[k] if v is not None]) for k in rungs]
        sds = [float(v.std(ddof=1)) if len(v) > 1 else np.nan for v in seeds]
        return [len(v) for v in seeds], [float(v.mean()) for v in seeds], sds

    def _threshold(self, rungs: Sequence[int]) -> Threshold:
        at = [self.ladder[k] for k in rungs]
        return threshold_of_means(at, *self._summaries(rungs), self.level, increasing=not self.falling, shared=self.shared)

    def _next(self) -> list[int]:
        """The rungs that get networks in the next step. Also sets `state`."""
        top = len(self.ladder) - 1
        rungs = self._measured()
        if len(self.values) - len(rungs) >= MOST_VOID:
            self.state = "no values"
            return []
        if not rungs:
            untried = self._nearest_to_middle(-1, top + 1, {k for k in self.values})
            self.state = "searching" if untried is not None else "no values"
            return [] if untried is None else [untried]
        found = self._threshold(rungs)
        low, high = self._bracket(found, rungs)
        if low == high:  # nearly all curves cross beyond one end of the ladder, and that end was tried
            self.state = "not reached" if found.value > 0 else "already reached"
            return []
        inside = [k for k in rungs if low < k < high]
        unsure = [k for k in inside if self._has_seeds(k)]
        split = self._widest_gap(low, high, inside)
        if split is not None:
            self.state = "searching"
            return sorted([split, *unsure])
        return self._refined(found, [k for k in (low, *inside, high) if 0 <= k <= top])

    def _few(self, found: Threshold) -> list[int]:
        """The rungs that decide x* and have fewer networks than a verdict takes, or than there are."""
        rungs = self._measured()
        around = rungs[deciding([self.ladder[k] for k in rungs], found.value, found.low, found.high)]
        return [k for k in around if len(self.values[k]) < min(LEAST_NETWORKS, self.n_seeds[k])]

    def _bracket(self, found: Threshold, rungs: Sequence[int]) -> tuple[int, int]:
        """The two rungs between which `SURE` of the curves cross; -1 and the ladder's length stand for places beyond its ends."""
        draws = found.draws if len(found.draws) else np.array([found.value])
        at, top = np.array([self.ladder[k] for k in rungs]), len(self.ladder) - 1
        edges = np.array([-1, *rungs, top + 1])
        right = np.where(
            np.isneginf(draws), 0, np.searchsorted(at, draws * (1 - 1e-12))
        )  # a crossing at a rung counts as below it
        low, high = np.quantile(right, [0.5 - SURE / 2, 0.5 + SURE / 2], method="inverted_cdf").astype(int)
        ends = (0 if rungs[0] == 0 else -1), (top if rungs[-1] == top else top + 1)  # an end of the ladder that was tried
        first, last = np.clip([edges[low], edges[high + 1]], *ends)
        return int(first), int(last)

    def _has_seeds(self, k: int) -> bool:
        return len(self.values.get(k, ())) < self.n_seeds[k]

    def _widest_gap(self, low: int, high: int, inside: Sequence[int]) -> int | None:
        """The rung that splits the widest gap between neighbours; None if no gap is wider than the interval asked for."""
        known = [low, *inside, high]
        gaps = sorted(pairwise(known), key=lambda gap: -self._width(*gap))
        for a, b in gaps:
            ends = a < 0 or b >= len(self.ladder)
            # A step function may cross anywhere in a gap, so that half of the gap must be within the tolerance.
            if ends or self._width(a, b) > 2 * np.log1p(self.tolerance) * (1 + 1e-9):
                split = self._nearest_to_middle(a, b, set(self.values))
                if split is not None:
                    return split
        return None

    def _width(self, a: int, b: int) -> float:
        first, last = self.ladder[max(a, 0)], self.ladder[min(b, len(self.ladder) - 1)]
        return float(np.log(last / first))

    def _nearest_to_middle(self, a: int, b: int, but: Iterable[int]) -> int | None:
        """The rung strictly between a and b, not in `but`, that is nearest to their middle on a log axis; None if none is."""
        free = [k for k in range(a + 1, b) if k not in but and self.n_seeds[k] >= self._least]
        if not free:
            return None
        middle = np.log(self.ladder[max(a, 0)] * self.ladder[min(b, len(self.ladder) - 1)]) / 2
        return min(free, key=lambda k: (abs(np.log(self.ladder[k]) - middle), k))

    def _refined(self, found: Threshold, around: Sequence[int]) -> list[int]:
        """The rungs that get more seeds: first those around the crossing, then others, until the interval is narrow enough."""
        if max(self.n_seeds) == 1:  # no spread, so no interval
            self.state = "as asked"
            return []
        if np.isfinite(found.low) and np.log(found.high / found.low) / 2 <= np.log1p(self.tolerance):
            few = self._few(found)
            self.state = "searching" if few else "as asked"
            return few
        self.state = "searching"
        if more := [k for k in around if self._has_seeds(k)]:
            return more
        inside = [k for k, x in enumerate(self.ladder) if found.low <= x <= found.high and self._has_seeds(k)]
        inside = [k for k in inside if self.n_seeds[k] >= self._least]
        if inside:
            near = np.clip(found.value, self.ladder[0], self.ladder[-1])
            return sorted(inside, key=lambda k: abs(np.log(self.ladder[k] / near)))[:2]
        self.state = "all seeds used"
        return []
