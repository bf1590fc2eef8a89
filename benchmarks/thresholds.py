"""`python -m benchmarks.thresholds`: the cost of threshold searches beside grids, and the coverage of their intervals.

Nothing is trained: networks are drawn about known curves, with accuracy 1/2 + 1/2 Phi(log(x / middle) / width) + noise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from scipy.optimize import brentq
from scipy.stats import norm

from orchestrator.grid.find import n_rungs
from orchestrator.search.bisection import ThresholdSearch
from sweepkit.stats import Threshold, threshold_interval

LOW, HIGH, LEVEL, SEEDS, TOLERANCE = 2, 4096, 0.85, 6, 0.05
SPACINGS = (0.7, 0.35, 0.2, 0.1)
"""The spacings of the grids, in log x. The last is twice the tolerance, so that even a step is located as well as was asked."""


class Curve(NamedTuple):
    """A kind of network: where its accuracy rises, how gradually, and the standard deviation of its seeds."""

    name: str
    middle: float
    width: float
    sd: float

    def accuracy(self, x: Any) -> Any:
        """The mean accuracy at x."""
        return 0.5 + 0.5 * norm.cdf(np.log(x / self.middle) / self.width)

    @property
    def crossing(self) -> float:
        """The x at which the mean accuracy is LEVEL."""
        return float(np.exp(brentq(lambda u: self.accuracy(np.exp(u)) - LEVEL, 0, 12)))


CURVES = (
    Curve("gradual, seeds alike", 100, 1.0, 0.01),
    Curve("gradual, seeds differ", 100, 1.0, 0.03),
    Curve("slow", 300, 2.0, 0.02),
    Curve("sharp", 100, 0.1, 0.02),
)


class Cost(NamedTuple):
    """Number of networks (mean), half-width of the interval, and share of intervals that hold the threshold, over repetitions."""

    networks: float
    half: float
    """Median half-width of the interval, in log x."""
    coverage: float


def of_search(curve: Curve, rng: np.random.Generator) -> tuple[int, Threshold]:
    """One search, run to its end: its number of networks and its threshold."""
    ladder = sorted({round(x) for x in np.geomspace(LOW, HIGH, n_rungs(LOW, HIGH, TOLERANCE))})
    search = ThresholdSearch(ladder, [SEEDS] * len(ladder), LEVEL, TOLERANCE)
    while wanted := search.wanted():
        search.told({(k, s): curve.accuracy(ladder[k]) + curve.sd * rng.standard_normal() for k, s in wanted})
    found = search.threshold
    assert found is not None
    return search.n_networks, found


def of_grid(curve: Curve, spacing: float, rng: np.random.Generator) -> tuple[int, Threshold]:
    """One grid with all seeds: its number of networks and its threshold. The grid starts at a random x near LOW."""
    logs = np.arange(np.log(LOW) + spacing * rng.random(), np.log(HIGH), spacing)
    x = sorted({round(v) for v in np.exp(logs)})
    values = [curve.accuracy(v) + curve.sd * rng.standard_normal(SEEDS) for v in x]
    return SEEDS * len(x), threshold_interval(x, values, LEVEL)


def repeated(curve: Curve, once: Callable[[np.random.Generator], tuple[int, Threshold]], times: int) -> Cost:
    """The cost over many repetitions."""
    ends = [once(np.random.default_rng(seed)) for seed in range(times)]
    halves = [np.log(t.high / t.low) / 2 if 0 < t.low < t.high < np.inf else np.inf for _, t in ends]
    held = [t.low <= curve.crossing <= t.high for _, t in ends]
    return Cost(float(np.mean([n for n, _ in ends])), float(np.median(halves)), float(np.mean(held)))


def main(times: int = typer.Option(100, min=1, help="Repetitions of each.")) -> None:
    """Compare searches with grids, on curves that are known."""
    out = Console(width=110)
    table = Table(box=SIMPLE_HEAD, title=f"x at accuracy {LEVEL} in {LOW}..{HIGH}, {SEEDS} seeds, tolerance {TOLERANCE}")
    for name in ("curve", "how", "networks", "half-width", "95% interval holds x*", "networks over the search's"):
        table.add_column(name, justify="left" if name in ("curve", "how") else "right")
    for curve in CURVES:
        search = repeated(curve, lambda rng, c=curve: of_search(c, rng), times)  # type: ignore[misc]
        table.add_row(curve.name, "search", f"{search.networks:.0f}", f"{search.half:.3f}", f"{search.coverage:.0%}", "")
        for spacing in SPACINGS:
            grid = repeated(curve, lambda rng, c=curve, h=spacing: of_grid(c, h, rng), times)  # type: ignore[misc]
            more = f"{grid.networks / search.networks:.1f}"
            row = (f"grid, spacing {spacing}", f"{grid.networks:.0f}", f"{grid.half:.3f}", f"{grid.coverage:.0%}", more)
            table.add_row("", *row)
    out.print(table)


if __name__ == "__main__":
    typer.run(main)
