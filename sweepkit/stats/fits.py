"""Power laws and lines through points, and the exponent of thresholds, with intervals.

| symbol | here | meaning |
|---|---|---|
| y = A x^b | `prefactor`, `exponent` | least squares of log y on log x |
| y = c + A x^b | `offset` | least squares of y, each error in proportion to y or to the width of the point's interval |
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sweepkit.stats.checks import Floats, finite, level_between_0_and_1, same_length
from sweepkit.stats.intervals import Interval
from sweepkit.stats.thresholds import Threshold

FEWEST_OF_LAW = 3
"""Least number of sizes for an exponent to be reported: through two points every power law is perfect."""
STEEPEST = 20.0
"""The largest exponent of a law. A larger one fits only the point at the end of the others."""


@dataclass(frozen=True)
class PowerLaw:
    """y = prefactor x^exponent, or offset + prefactor x^exponent, fitted from x_low to x_high."""

    exponent: Interval
    prefactor: float
    offset: Interval | None
    x_low: float
    x_high: float
    n: int
    r2: float
    """Share of the (weighted) variance of log y that the law explains; of y if it has an offset. NaN if y is constant."""
    level: float = 0.95
    _middle: float = field(default=1.0, repr=False)
    _covariance: Floats = field(default_factory=lambda: np.full((2, 2), np.nan), repr=False, compare=False)
    """Covariance of (log of the power at x = _middle, exponent); with an offset, of (offset, power at x = _middle, exponent)."""

    def curve(self, x: ArrayLike) -> Floats:
        """The law at x, in the shape of x."""
        return np.asarray((self.offset.value if self.offset else 0.0) + self._power(x))

    def band(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper bound of the law (not of new points) at each x, by Student's t; with an offset to first order."""
        log_x = np.log(np.asarray(x, dtype=float) / self._middle)
        if self.offset is None:
            gradient = np.stack([np.ones_like(log_x), log_x], axis=-1)
            half = self._half(gradient)
            return self._power(x) * np.exp(-half), self._power(x) * np.exp(half)
        shape = np.exp(self.exponent.value * log_x)
        at_middle = self.prefactor * self._middle**self.exponent.value
        half = self._half(np.stack([np.ones_like(log_x), shape, at_middle * shape * log_x], axis=-1))
        return self.curve(x) - half, self.curve(x) + half

    def _power(self, x: ArrayLike) -> Floats:
        return np.asarray(self.prefactor * np.asarray(x, dtype=float) ** self.exponent.value)

    def _half(self, gradient: Floats) -> Floats:
        return _half_width(gradient, self._covariance, self.n, self.level)


@dataclass(frozen=True)
class Line:
    """y = intercept + slope x, or intercept + slope log2 x where the slope is `per_doubling`."""

    slope: Interval
    intercept: float
    x_low: float
    x_high: float
    n: int
    r2: float
    """Share of the (weighted) variance of y that the line explains; NaN if y is constant."""
    per_doubling: bool = False
    level: float = 0.95
    _middle: float = field(default=0.0, repr=False)
    _covariance: Floats = field(default_factory=lambda: np.full((2, 2), np.nan), repr=False, compare=False)

    def curve(self, x: ArrayLike) -> Floats:
        """The line at x, in the shape of x."""
        return np.asarray(self.intercept + self.slope.value * self._scale(x))

    def band(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Lower and upper bound of the line (not of new points) at each x, by Student's t."""
        away = self._scale(x) - self._middle
        half = _half_width(np.stack([np.ones_like(away), away], axis=-1), self._covariance, self.n, self.level)
        return self.curve(x) - half, self.curve(x) + half

    def _scale(self, x: ArrayLike) -> Floats:
        return np.asarray(np.log2(x) if self.per_doubling else np.asarray(x, dtype=float))


@dataclass(frozen=True)
class ThresholdExponent:
    """Exponent b of threshold ~ x^b over the thresholds that were reached, and how many were not.

    The thresholds left out were censored; they are not missing by chance. Thresholds beyond the range are the large ones: without
    them the exponent is drawn towards 0 if they lie where the thresholds grow.
    """

    exponent: Interval
    """The interval is from the thresholds' own uncertainty, resampled: right if a power law holds. It is from their scatter
    (`law`) if some threshold has no interval."""
    law: PowerLaw
    """The fitted law, with t intervals from the scatter of the thresholds about it. These are wide for few thresholds, but also
    cover deviations from a power law; NaN for two thresholds."""
    misfit: float
    """Reduced chi-square of the scatter by the thresholds' uncertainty: well above 1 if no power law holds; NaN for two
    thresholds or without uncertainties."""
    n_used: int
    n_not_reached: int
    n_below_range: int


def power_law(
    x: ArrayLike,
    y: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    offset: bool = False,
    level: float = 0.95,
) -> PowerLaw:
    """Power law through points x, y, all > 0, (n,): least squares in log-log, intervals by t with n - 2 degrees of freedom.

    The points' intervals `low`, `high` set only their relative weights: the size of the errors is taken from the scatter. Two
    points give a law without intervals (NaN). With `offset` an additive constant is fitted too, from 4 points on; the intervals
    are then by t (n - 3 degrees of freedom) from the covariance at the minimum. They are right to first order, but not if offset
    and power are hard to tell apart, and may then even be infinite.
    ValueError for values <= 0, too few points, equal x, NaN, or if no law with an offset is found.
    """
    level_between_0_and_1(level)
    xs, ys = _points(x, y, 4 if offset else 2)
    _positive(x=xs, y=ys)
    middle = float(np.exp(np.log(xs).mean()))  # there the errors of height and exponent depend least on each other
    errors = _errors(ys, low, high, logarithmic=not offset)
    if offset:
        return _with_offset(xs, ys, ys if errors is None else errors, middle, level)
    height, slope, covariance, r2 = _least_squares(np.log(xs / middle), np.log(ys), errors)
    exponent = _interval(slope, covariance[1, 1], len(xs), 2, level)
    prefactor = float(np.exp(height - slope * np.log(middle)))
    return PowerLaw(exponent, prefactor, None, float(xs.min()), float(xs.max()), len(xs), r2, level, middle, covariance)


def linear_fit(
    x: ArrayLike,
    y: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    per_doubling: bool = False,
    level: float = 0.95,
) -> Line:
    """Line through points x, y, (n,), intervals by t with n - 2 degrees of freedom; x may repeat (one point for each seed).

    `per_doubling` fits against log2 x: the slope is then the gain of y when x doubles, and 0 lies within its interval if y does
    not depend on x. Weights, two points and ValueError as for `power_law`.
    """
    level_between_0_and_1(level)
    xs, ys = _points(x, y, 2)
    if per_doubling:
        _positive(x=xs)
    scale = np.log2(xs) if per_doubling else xs
    middle = float(scale.mean())
    height, slope, covariance, r2 = _least_squares(scale - middle, ys, _errors(ys, low, high, logarithmic=False))
    interval = _interval(slope, covariance[1, 1], len(xs), 2, level)
    intercept, ends = height - slope * middle, (float(xs.min()), float(xs.max()))
    return Line(interval, intercept, *ends, len(xs), r2, per_doubling, level, middle, covariance)


def local_slopes(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Slopes on logarithmic axes between neighbours of points x, y, (n,), x ascending; and the geometric means of their x.

    Both are (n - 1,). A point with y <= 0 or NaN gives NaN.
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    log_x, log_y = np.log(xs), np.log(np.where(ys > 0, ys, np.nan))
    return np.exp((log_x[1:] + log_x[:-1]) / 2), np.diff(log_y) / np.diff(log_x)


PER_DECADE = 8
"""Points per decade at which a curve on logarithmic axes is read: many late ones would outweigh early ones."""


def by_decades(first: float, last: float) -> Floats:
    """Points from first to last, both included, at equal ratios: some PER_DECADE in each decade, and at least two."""
    return np.geomspace(first, last, max(2, round(PER_DECADE * np.log10(last / first)) + 1))


def exponent_of_thresholds(
    x: ArrayLike, thresholds: Sequence[Threshold], level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> ThresholdExponent:
    """Exponent of thresholds against x (k,), such as L* against d, from the thresholds that were reached, at least two.

    Each resample draws every threshold anew from its own resamples and fits again, without thresholds whose draw is out of range.
    Weights come from the thresholds' uncertainty; all are equal if some threshold has none. ValueError as for `power_law`.
    """
    level_between_0_and_1(level)
    all_x = finite("x", x)
    same_length(x=all_x, thresholds=thresholds)
    used = [t for t in thresholds if t.is_reached]
    n_not_reached = sum(t.is_beyond for t in thresholds)
    censored = n_not_reached, len(thresholds) - len(used) - n_not_reached
    if len(used) < 2:
        why = zip(censored, ("not reached", "already at the smallest x"), strict=True)
        others = ", ".join(f"{n} {words}" for n, words in why if n)
        raise ValueError(f"an exponent needs 2 thresholds that were reached, got {len(used)}{f' ({others})' if others else ''}")
    xs = all_x[[t.is_reached for t in thresholds]]
    values = np.array([t.value for t in used])
    _positive(x=xs, threshold=values)
    errors = np.array([_log_error(t) for t in used])
    if not (errors > 0).all():  # NaN too
        law = power_law(xs, values, level=level)
        return ThresholdExponent(law.exponent, law, np.nan, len(used), *censored)
    law = power_law(xs, values, values * np.exp(-errors), values * np.exp(errors), level=level)
    residuals = np.log(values / law.curve(xs)) / errors
    misfit = float((residuals**2).sum() / (len(xs) - 2)) if len(xs) > 2 else np.nan
    # Thresholds that were resampled with one seed share their random numbers. A new draw from each makes them independent.
    rng = np.random.default_rng(seed)
    drawn = np.stack([rng.choice(t.draws, n_resamples) for t in used], axis=1)
    slopes = _slopes(np.log(xs), drawn, errors**-2)
    tails = [0.5 - level / 2, 0.5 + level / 2]
    low, high = np.quantile(slopes, tails) if len(slopes) else (np.nan, np.nan)
    exponent = Interval(
        law.exponent.value, float(low), float(high), min(t.n_seeds for t in used), "thresholds resampled", "seeds"
    )
    return ThresholdExponent(exponent, law, misfit, len(used), *censored)


def _log_error(t: Threshold) -> float:
    """Half of the central 68% of the log of the resampled thresholds in range: one standard error; NaN if there are none."""
    draws = t.draws[np.isfinite(t.draws)]
    if len(draws) == 0:
        return np.nan
    if draws.min() <= 0:
        raise ValueError(f"a resampled threshold of {draws.min():g} has no logarithm")
    low, high = np.quantile(np.log(draws), [0.16, 0.84])
    return float(high - low) / 2


def _slopes(log_x: Floats, drawn: Floats, weights: Floats) -> Floats:
    """Weighted slope of log drawn (rows, k) on log_x (k,) by row, over finite values; rows without two x are left out."""
    valid = np.isfinite(drawn)
    log_y = np.log(np.where(valid, drawn, 1.0))
    w = valid * weights
    w = w[valid.any(axis=1)]
    log_y = log_y[valid.any(axis=1)]
    total = w.sum(axis=1, keepdims=True)
    dx = log_x - (w * log_x).sum(axis=1, keepdims=True) / total
    spread = (w * dx**2).sum(axis=1)
    solvable = spread > 1e-12 * total[:, 0]
    return np.asarray((w * dx * log_y).sum(axis=1)[solvable] / spread[solvable])


def _points(x: ArrayLike, y: ArrayLike, fewest: int) -> tuple[Floats, Floats]:
    xs, ys = finite("x", x), finite("y", y)
    same_length(x=xs, y=ys)
    if len(xs) < fewest:
        raise ValueError(f"too few points for this fit: {len(xs)}, needs {fewest}")
    if np.ptp(xs) == 0:
        raise ValueError(f"x is {xs[0]:g} at every point, which gives no slope")
    return xs, ys


def _positive(**arrays: Floats) -> None:
    for name, array in arrays.items():
        if array.min() <= 0:
            raise ValueError(f"{name} = {array.min():g} has no logarithm")


def _errors(y: Floats, low: ArrayLike | None, high: ArrayLike | None, logarithmic: bool) -> Floats | None:
    """Widths of the points' intervals, (n,), in log y if `logarithmic`; None if no intervals are given."""
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise ValueError("low and high come together")
    lows, highs = finite("low", low), finite("high", high)
    same_length(y=y, low=lows, high=highs)
    if logarithmic:
        _positive(low=lows)
    width = np.log(highs / lows) if logarithmic else highs - lows
    if (width <= 0).any():
        raise ValueError(f"the interval of y = {y[width.argmin()]:g} has no width, which would give it all the weight")
    return np.asarray(width)


def _least_squares(x: Floats, y: Floats, errors: Floats | None) -> tuple[float, float, Floats, float]:
    """Height at x = 0, slope, their covariance (2, 2) (NaN for two points), and R squared."""
    weights = np.ones(len(x)) if errors is None else (errors.min() / errors) ** 2
    root = np.sqrt(weights)
    design = np.column_stack([np.ones(len(x)), x]) * root[:, None]
    inverse = np.linalg.pinv(design)
    height, slope = inverse @ (y * root)
    residual = (weights * (y - height - slope * x) ** 2).sum()
    total = (weights * (y - np.average(y, weights=weights)) ** 2).sum()
    with np.errstate(all="ignore"):  # equal y have no variance: R squared is NaN
        r2 = float(1 - residual / total)
    covariance = inverse @ inverse.T * residual / (len(x) - 2) if len(x) > 2 else np.full((2, 2), np.nan)
    return float(height), float(slope), covariance, r2 if np.isfinite(r2) else np.nan


def _with_offset(x: Floats, y: Floats, errors: Floats, middle: float, level: float) -> PowerLaw:
    from scipy.optimize import OptimizeWarning, curve_fit

    unit = float(np.abs(y).max())
    z, sigma, u = y / unit, errors / unit, x / middle

    def law(u: Floats, c: float, a: float, b: float) -> Floats:
        return np.asarray(c + a * u**b)

    def linear(b: float) -> tuple[float, Any]:
        """Squared error and (c, a) of the best law of exponent b."""
        columns = np.column_stack([np.ones(len(u)), u**b]) / sigma[:, None]
        best, *_ = np.linalg.lstsq(columns, z / sigma)
        return float(((columns @ best - z / sigma) ** 2).sum()), best

    start = min(np.arange(-5.9, 6, 0.2), key=lambda b: linear(b)[0])  # never b = 0: the power would be an offset too
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", OptimizeWarning)  # without a covariance the intervals are infinite
        try:
            found, covariance = curve_fit(law, u, z, [*linear(start)[1], start], sigma, maxfev=20000)
        except RuntimeError as error:
            raise ValueError(f"no power law with an offset fits these {len(x)} points: {error}") from error
    c, a, b = (float(value) for value in found)
    if abs(b) > STEEPEST:
        raise ValueError(f"no power law with an offset fits these {len(x)} points: the best is a step, of exponent {b:.3g}")
    scale = np.array([unit, unit, 1.0])
    covariance = covariance * np.outer(scale, scale)
    weights = sigma**-2
    squares = (weights * (z - (weights * z).sum() / weights.sum()) ** 2).sum()
    r2 = float(1 - (weights * (z - law(u, *found)) ** 2).sum() / squares) if squares > 0 else np.nan
    exponent = _interval(b, covariance[2, 2], len(x), 3, level)
    constant = _interval(c * unit, covariance[0, 0], len(x), 3, level)
    ends = float(x.min()), float(x.max())
    return PowerLaw(exponent, a * unit * middle**-b, constant, *ends, len(x), r2, level, middle, covariance)


def _interval(value: float, variance: float, n: int, n_parameters: int, level: float) -> Interval:
    if n == n_parameters:
        return Interval(value, np.nan, np.nan, n, "too few points", "points")
    half = float(stdtrit(n - n_parameters, 0.5 + level / 2) * np.sqrt(variance))
    return Interval(value, value - half, value + half, n, "Student t", "points")


def _half_width(gradient: Floats, covariance: Floats, n: int, level: float) -> Floats:
    """Half of the interval, (...), of a function of the parameters with this gradient (..., parameters), to first order."""
    if np.isinf(covariance).any():  # curve_fit gives this if the points leave a parameter free
        return np.full(gradient.shape[:-1], np.inf)
    variance = np.einsum("...i,ij,...j->...", gradient, covariance, gradient)
    if n == len(covariance):
        return np.full(variance.shape, np.nan)
    return np.asarray(stdtrit(n - len(covariance), 0.5 + level / 2) * np.sqrt(variance))
