"""Whether curves fall on one master curve when their x is rescaled as a theory predicts.

| symbol | here | meaning |
|---|---|---|
| S | `quality` | mean over points of (y - Y)^2 / (dy^2 + dY^2); about 1: the curves collapse within their errors |
| Y, dY | | line through the points of the OTHER curves next to the left and right of the point's x, and its error |

Houdayer and Hartmann, Phys. Rev. B 70, 014418 (2004); the line by weighted least squares. A point counts if another curve has
points on both sides of it. Bhattacharjee and Seno (2001) compare neighbours in the same way, without errors.
S near 1 says little if curves overlap only where they are flat (chance, or all right), or if few points count (`n_points`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sweepkit.stats.checks import Floats, finite, level_between_0_and_1, same_length
from sweepkit.stats.intervals import Interval

GRID = 101
"""Exponents tried at a time."""


class Curve(NamedTuple):
    """One curve: x, y and the standard error of y (> 0), each (k,), k >= 2, x in any order without repeats."""

    x: ArrayLike
    y: ArrayLike
    error: ArrayLike
    n: ArrayLike = np.inf
    """The number of seeds behind each error, (k,) or one number; infinite for known errors."""


@dataclass(frozen=True)
class Collapse:
    """S of the rescaled curves, and S of the curves as they are for comparison.

    If errors come from n seeds each, S of a perfect collapse is above 1, because an error from few seeds is often too small: on
    average 1.2 for n = 12, 1.4 for n = 6 and 2.9 for n = 3 (measured on curves of 12 points).
    """

    quality: float
    """NaN if no point counts."""
    unscaled_quality: float
    n_points: int
    """The number of points that count in `quality`."""
    n_unscaled_points: int
    n_total: int


@dataclass(frozen=True)
class BestExponent:
    """The exponent e at which x / scale^e collapses the curves best, and the quality of that collapse."""

    exponent: Interval
    quality: float
    n_points: int
    n_total: int


def collapse(curves: Sequence[Curve], scales: ArrayLike, log_x: bool = True) -> Collapse:
    """S of y_k against x / scales[k], for at least two curves. Lines between points are in log x unless `log_x=False`.

    ValueError for fewer curves, NaN, errors or scales <= 0, and x <= 0 with `log_x`. If all seeds have the same accuracy p, its
    error is not 0: give that of the test set, sqrt(p (1 - p) / examples), or 1 / examples at p = 1.
    """
    points = _Points.of(curves, scales, log_x)
    scaled, unscaled = points.comparison(1.0), points.comparison(0.0)
    return Collapse(scaled.quality(points.y), unscaled.quality(points.y), scaled.n, unscaled.n, len(points.y))


def best_exponent(
    curves: Sequence[Curve],
    scale_values: ArrayLike,
    bounds: tuple[float, float] = (-1.0, 4.0),
    n_resamples: int = 2000,
    level: float = 0.95,
    log_x: bool = True,
    seed: int = 0,
) -> BestExponent:
    """The exponent e between `bounds` that minimises S of x / scale_values^e, with an interval by parametric bootstrap.
    `scale_values` is (curves,).

    Each resample moves every y by a random error of its size and finds the best e anew. The error is normal, or Student's t if
    errors come from n seeds (normal errors would cover 91% at 6 seeds and 73% at 3 where 95% is asked; measured). Houdayer and
    Hartmann take all e with S up to S_min + 1. Their interval ignores how many points S is the mean of, and is about twice too
    wide here. An exponent is not tried if fewer than half as many points count there as at the exponent where most count.
    ValueError as for `collapse`, and for equal scale values, n below 2, and a minimum at the edge of `bounds`.
    """
    level_between_0_and_1(level)
    points = _Points.of(curves, scale_values, log_x)
    if points.n.min() < 2:
        raise ValueError(f"n = {points.n.min():g}: one seed gives no error")
    if np.ptp(points.shift) == 0:
        raise ValueError("the scale values are all equal, which leaves no exponent to find")
    rng, shape = np.random.default_rng(seed), (len(points.y), n_resamples)
    known = np.isposinf(points.n)
    deviations = rng.standard_normal(shape)
    deviations[~known] = rng.standard_t(points.n[~known, None] - 1, (int((~known).sum()), n_resamples))
    y = np.column_stack([points.y, points.y[:, None] + points.error[:, None] * deviations])
    coarse = np.linspace(*bounds, GRID)
    found = _minima(points, y, coarse)
    if found[0] in bounds:
        raise ValueError(f"the best exponent lies at the edge of {bounds}, or beyond: widen the bounds")
    step = coarse[1] - coarse[0]
    # The best e of the data has a grid of its own: its digits must not depend on how far the resamples reach.
    near = np.linspace(max(bounds[0], found[0] - step), min(bounds[1], found[0] + step), GRID)
    value = float(_minima(points, y[:, :1], near)[0])
    fine = np.linspace(max(bounds[0], found[1:].min() - step), min(bounds[1], found[1:].max() + step), GRID)
    low, high = np.quantile(_minima(points, y[:, 1:], fine), [0.5 - level / 2, 0.5 + level / 2])
    low, high = min(low, value), max(high, value)  # S jumps where points enter the overlap, so that e of the data may lie outside
    best = points.comparison(value)
    exponent = Interval(value, float(low), float(high), len(curves), "parametric bootstrap", "curves")
    return BestExponent(exponent, best.quality(points.y), best.n, len(points.y))


class _Comparison(NamedTuple):
    """The terms of S at one rescaling: S = mean over rows of (residual @ y)^2 / variance."""

    residual: Floats
    """(n, points): row i, applied to y, gives y_i minus the master curve there."""
    variance: Floats
    """(n,)"""

    @property
    def n(self) -> int:
        return len(self.variance)

    def quality(self, y: Floats) -> float:
        return float(np.mean((self.residual @ y) ** 2 / self.variance)) if self.n else np.nan


class _Points(NamedTuple):
    """The points of all curves, (points,), ascending in x within each curve; x is log x if `log_x`."""

    x: Floats
    y: Floats
    error: Floats
    n: Floats
    shift: Floats
    """Log of the point's scale value."""
    starts: list[int]
    """The index at which each curve begins, and the end of the last."""
    log_x: bool

    @classmethod
    def of(cls, curves: Sequence[Curve], scales: ArrayLike, log_x: bool) -> "_Points":
        scale = finite("scales", scales)
        same_length(curves=curves, scales=scale)
        if len(curves) < 2:
            raise ValueError("a collapse needs at least two curves")
        if scale.min() <= 0:
            raise ValueError(f"a scale of {scale.min():g} is not above 0")
        columns = []
        for k, curve in enumerate(curves):
            x, y, error = (finite(f"{name} of curve {k}", getattr(curve, name)) for name in ("x", "y", "error"))
            same_length(x=x, y=y, error=error)
            n = np.broadcast_to(np.asarray(curve.n, dtype=float), x.shape)
            if error.min() <= 0:
                raise ValueError(f"curve {k} has an error of {error.min():g}: S needs errors above 0")
            if log_x and x.min() <= 0:
                raise ValueError(f"curve {k}: x = {x.min():g} has no logarithm; pass log_x=False")
            order = np.argsort(x)
            if len(x) < 2 or (np.diff(x[order]) == 0).any():
                raise ValueError(f"curve {k} needs at least two points, of different x")
            columns.append(np.stack([np.log(x) if log_x else x, y, error, n, np.full(len(x), np.log(scale[k]))])[:, order])
        x, y, error, n, shift = np.concatenate(columns, axis=1)
        return cls(x, y, error, n, shift, np.cumsum([0] + [c.shape[1] for c in columns]).tolist(), log_x)

    def comparison(self, exponent: float) -> _Comparison:
        """Each point compared with the line through its neighbours on the other curves, at x / scale^exponent."""
        x = self.x - exponent * self.shift if self.log_x else self.x * np.exp(-exponent * self.shift)
        n = len(x)
        w = np.zeros((n, n))  # [i, l]: weight of point l in the line at point i
        for start, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            curve = x[start:end]
            others = np.flatnonzero((np.arange(n) < start) | (np.arange(n) >= end))
            others = others[(x[others] >= curve[0]) & (x[others] <= curve[-1])]
            left = np.minimum(np.searchsorted(curve, x[others], side="right"), end - start - 1) - 1 + start
            for neighbour in (left, left + 1):
                w[others, neighbour] = self.error[neighbour] ** -2
        rows = np.flatnonzero(w.any(axis=1))
        w, u = w[rows], x[None, :] - x[rows, None]
        k, k_u, k_uu = w.sum(axis=1), (w * u).sum(axis=1), (w * u**2).sum(axis=1)
        determinant = k * k_uu - k_u**2
        line = w * (k_uu[:, None] - u * k_u[:, None]) / determinant[:, None]
        return _Comparison(np.eye(n)[rows] - line, self.error[rows] ** 2 + k_uu / determinant)


def _minima(points: _Points, y: Floats, exponents: Floats) -> Floats:
    """The exponent of least S for each column of y (points, columns): (columns,)."""
    comparisons = [points.comparison(float(e)) for e in exponents]
    enough = max(c.n for c in comparisons) / 2
    if enough == 0:
        raise ValueError("the curves overlap at no exponent within the bounds")
    s = np.full((len(exponents), y.shape[1]), np.inf)
    for row, c in zip(s, comparisons, strict=True):
        if c.n >= enough:
            row[:] = ((c.residual @ y) ** 2 / c.variance[:, None]).mean(axis=0)
    return np.asarray(exponents[s.argmin(axis=0)])
