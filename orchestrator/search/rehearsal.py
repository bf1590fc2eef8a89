"""The networks that a search will probably ask for, from a rehearsal with drawn values: nothing is trained. Knows no grid."""

import math
from collections.abc import Sequence
from copy import deepcopy

import numpy as np

from orchestrator.search.bisection import Network, ThresholdSearch

HEIGHT, WIDTH, SD = 0.5, 0.3, 0.06
"""The curve of a rehearsal rises by so much around its level, over so much of log x, and networks of one x differ by so much.
Rehearsed searches of the project's own grids then take 0.8 to 1.1 times the networks that they took (docs/inside/search.md)."""
LONGEST = 100
"""Most steps of a rehearsal."""


def rehearsed(search: ThresholdSearch, place: float, seed: int = 0) -> list[list[Network]]:
    """The networks of each step that is left, if the threshold lies at this part of the ladder, 0 to 1 on a log axis; where the
    search has an estimate, if it lies there.

    >>> steps = rehearsed(ThresholdSearch([2, 4, 8, 16], [6] * 4, level=0.8, tolerance=0.5), place=0.5)
    >>> steps[0]
    [(1, 0), (1, 1), (1, 2)]
    """
    rng, tried, x = np.random.default_rng(seed), deepcopy(search), np.log(search.ladder)
    known = search.threshold
    middle = math.log(known.value) if known and np.isfinite(known.value) and known.value > 0 else x[0] + place * (x[-1] - x[0])
    steps: list[list[Network]] = []
    while len(steps) < LONGEST and (wanted := tried.wanted()):
        steps.append(wanted)
        up = np.array([-1 if search.falling else 1]) * (x[[k for k, _ in wanted]] - middle) / WIDTH
        values = search.level + HEIGHT * (1 / (1 + np.exp(-up)) - 0.5) + SD * rng.standard_normal(len(wanted))
        tried.told(dict(zip(wanted, values.tolist(), strict=True)))
    return steps


def places(n: int) -> Sequence[float]:
    """Parts of the ladder at which n searches are rehearsed: evenly spread."""
    return [(k + 0.5) / n for k in range(n)]
