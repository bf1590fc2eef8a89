"""The x at which a curve of means over seeds crosses a level: L* and P*.

| symbol | here | meaning |
|---|---|---|
| L, P | `x`, shape (k,) | what is increased until the networks learn |
| L*, P* | `value` | least x at which the monotone curve through the means reaches `level`; inf beyond the range, -inf below it |
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sweepkit.stats.checks import Floats, finite, level_between_0_and_1, same_length

Reached = Literal["reached", "not reached", "already at the smallest x"]


@dataclass(frozen=True)
class Threshold:
    """The x at which the curve crosses `level`, and its interval.

    inf stands for an x beyond `x_high`, where nothing was measured (not reached). -inf stands for `x_low` or below (already
    reached there). A bound is infinite if that quantile of the resamples is. The bounds are NaN if some x has only one seed.
    """

    value: float
    low: float
    high: float
    n_seeds: int
    """The fewest seeds at one of the x that decide: from the one below the interval to the one above it."""
    reached: Reached
    level: float
    x_low: float
    x_high: float
    confidence: float = 0.95
    draws: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    """The resampled thresholds behind the interval; empty if there is no interval."""

    @property
    def is_reached(self) -> bool:
        """True if the curve crosses the level within the range."""
        return self.reached == "reached"

    @property
    def is_beyond(self) -> bool:
        """True if the threshold lies above the largest x."""
        return self.reached == "not reached"

    def describe(self, name: str = "L") -> str:
        """`L* = 41 (36 to 48), n = 6`, `not reached up to L = 1024, n = 6`, ..."""
        seeds = f"n = {self.n_seeds}"
        known = not np.isnan(self.low)
        if self.is_reached:
            return f"{name}* = {_shown(self.value)}" + (f" ({self.bounds})" if known else "") + f", {seeds}"
        if self.is_beyond:
            above = f" ({name}* above {_shown(self.low)})" if np.isfinite(self.low) else ""
            return f"not reached up to {name} = {self.x_high:g}{above}, {seeds}"
        below = f" ({name}* below {_shown(self.high)})" if np.isfinite(self.high) else ""
        return f"already reached at {name} = {self.x_low:g}{below}, {seeds}"

    @property
    def number(self) -> str:
        """`41`; `> 1024` if it is not reached; `<= 2` if it is reached at the smallest x."""
        if self.is_reached:
            return _shown(self.value)
        return f"> {self.x_high:g}" if self.is_beyond else f"<= {self.x_low:g}"

    @property
    def bounds(self) -> str:
        """Its interval: `36 to 48`, `36 to beyond 1024`; nothing if some x has only one seed."""
        if np.isnan(self.low):
            return ""
        low, high = (self._bound(end) for end in (self.low, self.high))
        return low if low == high else f"{low} to {high}"

    def _bound(self, end: float) -> str:
        if np.isfinite(end):
            return _shown(end)
        return f"beyond {self.x_high:g}" if end > 0 else f"below {self.x_low:g}"

    def __str__(self) -> str:
        return self.describe("x")


def _shown(x: float) -> str:
    """Three digits, without the exponent that the format gives from 1000 on."""
    return f"{float(f'{x:.3g}'):g}"


CLEARLY = 3.0
"""Standard errors by which the ends of a curve must differ to show which way it goes."""


def clear_rise(n: ArrayLike, means: ArrayLike, sds: ArrayLike) -> int:
    """1 if a curve clearly rises from its first point to its last, -1 if it clearly falls, else 0.

    n, means, sds as for `threshold_of_means`, in the order of x. A point of one value counts as exact.
    """
    counts, ends, spreads = (np.asarray(of, dtype=float)[[0, -1]] for of in (n, means, sds))
    rise, error = float(ends[1] - ends[0]), float(np.sqrt((np.nan_to_num(spreads) ** 2 / counts).sum()))
    return int(np.sign(rise)) if abs(rise) > CLEARLY * error else 0


def threshold(
    x: ArrayLike,
    y: ArrayLike,
    level: float,
    log_x: bool = True,
    increasing: bool = True,
    weights: ArrayLike | None = None,
) -> float:
    """The x at which the monotone curve nearest to the points (x, y), both (k,), crosses `level`; inf and -inf as in `Threshold`.

    Isotonic regression (least squares, with `weights`), then interpolation linear in log x, or in x with `log_x=False`.
    `increasing=False` is for a curve that falls to the level. x may come in any order. ValueError for NaN, repeated x, x <= 0
    with `log_x`.
    """
    xs, ys = finite("x", x), finite("y", y)
    w = np.ones(len(xs)) if weights is None else finite("weights", weights)
    same_length(x=xs, y=ys, weights=w)
    if (w <= 0).any():
        raise ValueError("weights are not all positive")
    order = _order(xs, log_x)
    return float(_crossings(xs[order], ys[None, order], w[order], level, log_x, increasing)[0])


def threshold_interval(
    x: ArrayLike,
    values_per_x: Sequence[ArrayLike],
    level: float,
    n_resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    log_x: bool = True,
    increasing: bool = True,
    shared: bool = False,
) -> Threshold:
    """`threshold` of the means over seeds, with its interval. x is (k,), and each x has the values of its seeds, at least one.

    Each mean is resampled about its value by Student's t with its own standard error. If networks at different x share no random
    draws, each x gets a deviation of its own. If the networks of one seed share draws (`shared`), all x get one deviation, as if
    they shared all draws. Drawing seeds with replacement instead covers 88% at 6 seeds and 77% at 3 where 95% is asked, because
    it takes the spread of these seeds for the true one (measured).
    The interval is for the crossing of the interpolated true curve: it holds no error of a coarse x. If seeds either learn or
    not, all of 2 or 3 may agree by chance, and the interval covers less (87%, 91%). ValueError as for `threshold`, and for an x
    without values.
    """
    xs = finite("x", x)
    same_length(x=xs, values_per_x=values_per_x)
    seeds = [finite(f"values at x = {x_k:g}", values) for x_k, values in zip(xs, values_per_x, strict=True)]
    n = np.array([len(values) for values in seeds])
    means = [values.mean() for values in seeds]
    sds = [values.std(ddof=1) if len(values) > 1 else np.nan for values in seeds]
    return threshold_of_means(xs, n, means, sds, level, n_resamples, seed, confidence, log_x, increasing, shared)


def threshold_of_means(
    x: ArrayLike,
    n: ArrayLike,
    means: ArrayLike,
    sds: ArrayLike,
    level: float,
    n_resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
    log_x: bool = True,
    increasing: bool = True,
    shared: bool = False,
) -> Threshold:
    """`threshold_interval` from summaries at each x, all (k,): number of values, mean, sample standard deviation (NaN for one
    value)."""
    level_between_0_and_1(confidence)
    xs, n, means, sds = finite("x", x), finite("n", n), finite("means", means), np.asarray(sds, dtype=float)
    same_length(x=xs, n=n, means=means, sds=sds)
    order = _order(xs, log_x)
    xs, n, means, sds = xs[order], n[order], means[order], sds[order]
    value = float(_crossings(xs, means[None], n, level, log_x, increasing)[0])
    reached: Reached = "reached" if np.isfinite(value) else "not reached" if value > 0 else "already at the smallest x"
    low = high = np.nan
    draws = np.empty(0)
    if n.min() > 1:
        errors = finite("sds", sds) / np.sqrt(n)
        rng, shape = np.random.default_rng(seed), (n_resamples, len(xs))
        deviations = rng.standard_t(n.min() - 1, (n_resamples, 1)) if shared else rng.standard_t(n - 1, shape)
        draws = _crossings(xs, means + errors * deviations, n, level, log_x, increasing)
        tails = [0.5 - confidence / 2, 0.5 + confidence / 2]
        low, high = (float(q) for q in np.quantile(draws, tails, method="inverted_cdf"))  # interpolating gives inf - inf
    n_seeds = int(n[deciding(xs, value, low, high)].min()) if n.min() > 1 else 1
    return Threshold(value, low, high, n_seeds, reached, level, float(xs[0]), float(xs[-1]), confidence, draws)


def deciding(x: ArrayLike, value: float, low: float, high: float) -> slice:
    """The places among ascending x of those that decide a threshold: from the one below its interval to the one above it; without
    an interval, those around the value.

    >>> deciding([1, 2, 4, 8, 16], 3.0, 2.5, 5.0)
    slice(1, 4, None)
    """
    xs = np.asarray(x, dtype=float)
    ends = [value if np.isnan(end) else end for end in (low, high)]
    first, last = int(np.searchsorted(xs, ends[0])) - 1, int(np.searchsorted(xs, ends[1]))
    return slice(min(max(0, first), len(xs) - 1), last + 1)


def _order(x: Floats, log_x: bool) -> NDArray[np.intp]:
    order = np.argsort(x)
    if (np.diff(x[order]) == 0).any():
        raise ValueError("x is repeated: pool the seeds of equal x")
    if log_x and x.min() <= 0:
        raise ValueError(f"x = {x.min():g} has no logarithm; pass log_x=False")
    return order


def _crossings(x: Floats, y: Floats, weights: Floats, level: float, log_x: bool, increasing: bool) -> Floats:
    """Crossing of each row of y (rows, k) over ascending x (k,): (rows,)."""
    y = (y - level) * (1 if increasing else -1)  # crosses 0, so that a value equal to the level stays equal to it
    curves = _isotonic(y, weights)
    above = curves >= 0
    right = above.argmax(axis=1)
    found = np.where(above.any(axis=1), -np.inf, np.inf)
    crossed = np.flatnonzero(right > 0)
    right = right[crossed]
    low, high = curves[crossed, right - 1], curves[crossed, right]
    share = -low / (high - low)
    scale = np.log(x) if log_x else x
    at = scale[right - 1] + share * (scale[right] - scale[right - 1])
    found[crossed] = np.exp(at) if log_x else at
    return found


def _isotonic(y: Floats, weights: Floats) -> Floats:
    """Isotonic regression of each row of y (rows, k), in one call: each row is lifted above the last, so that rows do not mix."""
    from scipy.optimize import isotonic_regression

    lift = (np.arange(len(y)) * (np.ptp(y) + 1))[:, None]
    fitted = isotonic_regression((y + lift).ravel(), weights=np.tile(weights, len(y))).x
    return np.asarray(fitted.reshape(y.shape) - lift)
