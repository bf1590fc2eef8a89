"""Intervals over seeds for a mean and a median."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, ndtr, ndtri, stdtrit  # scipy.stats would take a second to import

from sweepkit.stats.checks import Floats, finite, level_between_0_and_1

FEW = 50
"""Below this many values a mean gets Student's t interval, from here on the bootstrap's. Measured coverage of 95% (BCa / t): n =
10 .90 / .96 for normal values and .86 / .88 for accuracies near 1 (beta(8, 1/2)); n = 50 .94 / .95 and .93 / .93."""

LEAST_NETWORKS = 6
"""The fewest networks that decide a claim, and that a search trains at the values that decide a threshold: t intervals of 3 cover
80% where networks learn or do not."""
LEAST_APART = 10
"""The fewest values that tell the shares of two groups, or are equal by more than chance: an outcome that one network in four has
is missing among 6 with probability .18, among 10 with .06."""
_GAP = 0.7
"""Values fall into two groups where the largest gap between neighbours is this share of their range: 3% of samples of six normal
values do, one in a thousand of nine, and 5 to 20% of skewed ones (measured)."""

LEAST_MEDIAN = 6
"""The fewest values of which two can enclose the median at 95%."""
RESAMPLES = 1999


Spread = Literal["", "equal", "exact", "two groups"]
"""How values spread: equal by chance, as accuracies may be; equal, as nothing in them is drawn; in two groups, if they are fewer
than LEAST_APART."""


class Interval(NamedTuple):
    """An estimate from n values and its interval, at 95% unless asked otherwise; the bounds are NaN where n is too small."""

    value: float
    low: float
    high: float
    n: int
    method: str = ""
    """Where the bounds come from: `Student t`, `BCa bootstrap`, ..."""
    counts: str = "values"
    """The word for what n counts: `values`, `points` of a fit, `resamples`, or the fewest `seeds` that decide a threshold."""
    spread: Spread = ""
    """A way to spread that makes few values say less, or more, than they usually do."""


def mean_interval(
    values: ArrayLike, level: float = 0.95, bounds: tuple[float, float] | None = None, sd_of_ties: float = 0.0
) -> Interval:
    """Mean with Student's t interval for fewer than FEW values, else bias-corrected accelerated bootstrap [Efron 1987].

    Equal values always give equal intervals. `bounds`, (0, 1) for accuracies, are the limits of the mean. Cutting the interval
    there loses no coverage, because the truth never lies outside. `sd_of_ties` is the standard deviation taken if all values are
    equal: accuracies on few examples tie by chance. Fewer than LEAST_APART values in two groups, such as networks that learn and
    networks that do not, tell little of the share of either: the interval then holds all of them. ValueError for no values, NaN,
    or values outside the bounds.
    """
    x = _values(values, level)
    if bounds is not None:
        x = _within(x, bounds)
    mean, n = float(x.mean()), len(x)
    if n == 1:
        return Interval(mean, np.nan, np.nan, 1, "one value")
    spread = _spread(x, may_tie=sd_of_ties > 0)
    equal = spread in ("equal", "exact")
    low, high = (float(end[0]) for end in _bca(x[None], level)) if n >= FEW and not equal else (np.nan, np.nan)
    method = "BCa bootstrap"
    if not (np.isfinite(low) and np.isfinite(high)):
        sd = sd_of_ties if equal else x.std(ddof=1)
        half = float(stdtrit(n - 1, 0.5 + level / 2) * sd / np.sqrt(n))
        low, high, method = mean - half, mean + half, "Student t"
    if spread == "two groups":
        low, high = min(low, float(x.min())), max(high, float(x.max()))
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return Interval(mean, low, high, n, method, spread=spread)


def _spread(x: Floats, may_tie: bool) -> Spread:
    """The spread of values; rounding counts for nothing, of which differences of accuracies have that of 1."""
    ordered, size = np.sort(x), np.abs(x).max()
    across = ordered[-1] - ordered[0]
    if across <= 1e-12 * (max(size, 1) if may_tie else size):
        return "equal" if may_tie else "exact"
    apart = 2 < len(x) < LEAST_APART and np.diff(ordered).max() > _GAP * across
    return "two groups" if apart else ""


def after_looks(found: Interval, looks: int) -> Interval:
    """The interval at 1 - 0.05/looks from that at 95%, by quantiles of Student's t, or of the normal where n counts resamples.

    For a verdict taken anew each time that seeds were added: the first is at 95%, the second at 97.5%, and so on. Where the truth
    lies at an edge 6 to 8% of claims are then decided, instead of 9 to 11%. An infinite end stays where it is.
    """
    lost = {"values": 1, "seeds": 1, "points": 2}.get(found.counts, 0)
    if looks == 1 or (lost and found.n <= lost):
        return found
    few = lost > 0 and found.n < FEW
    at, usual = (stdtrit(found.n - lost, level) if few else ndtri(level) for level in (1 - 0.025 / looks, 0.975))
    wider, (value, low, high) = float(at / usual), found[:3]
    return found._replace(
        low=value - wider * (value - low) if np.isfinite([value, low]).all() else low,
        high=value + wider * (high - value) if np.isfinite([value, high]).all() else high,
    )


def least_equal(n: int, level: float = 0.95) -> float:
    """The largest share of other outcomes that n equal ones leave likely: 1 - (1 - level)^(1/n), about 3/n at 95%.

    The rule of three, by the binomial law [Hanley and Lippman-Hand 1983].
    """
    return float(1 - (1 - level) ** (1 / n))


_ROUNDING = 1e-6
"""How far rounding, of float32 at most, may bring a value beyond a bound of size 1, such as the cosine of equal vectors."""


def _within(x: Floats, bounds: tuple[float, float]) -> Floats:
    """The values, cut to the bounds where rounding passed them. ValueError for values farther out."""
    cut = np.clip(x, *bounds)
    if (np.abs(x - cut) > _ROUNDING * np.maximum(1, np.abs(cut))).any():
        raise ValueError(f"values from {x.min():g} to {x.max():g} are not within the bounds {bounds}")
    return cut


def _bca(x: Floats, level: float) -> tuple[Floats, Floats]:
    """Bounds of the means of (samples, n); NaN if the values of a sample are equal: there is no spread to correct the bias from.

    The bounds are those of scipy.stats.bootstrap(method="BCa", rng=0), which takes thirty times as long. Here all samples share
    their draws, so that the resampled means are one product of matrices.
    """
    low, high = np.full((2, len(x)), np.nan)
    spread = np.ptp(x, axis=1) > 0
    if spread.any():
        y, n = x[spread], x.shape[1]
        drawn = np.random.default_rng(0).integers(0, n, (RESAMPLES, n))
        times = np.stack([np.bincount(one, minlength=n) for one in drawn], axis=1) / n  # (n, RESAMPLES)
        means = y.mean(1)
        for i in range(0, len(y), _AT_ONCE):
            part = slice(i, i + _AT_ONCE)
            resampled = y[part] @ times
            quantiles = _bca_levels(y[part], means[part], resampled, level)
            low[np.flatnonzero(spread)[part]], high[np.flatnonzero(spread)[part]] = _quantiles(np.sort(resampled), quantiles)
    return low, high


_AT_ONCE = 500
"""Samples whose resampled means are held in memory at once: 8 MB."""


def _bca_levels(x: Floats, means: Floats, resampled: Floats, level: float) -> Floats:
    """Levels of the bounds among the resampled means (samples, RESAMPLES): (2, samples). NaN if one side of the mean has none."""
    # If values tie, resampled means equal the mean up to rounding, which must not decide.
    rounding = 1e-12 * np.abs(x).max(1)
    below, upto = ((resampled < (means + sign * rounding)[:, None]).mean(1) for sign in (-1, 1))
    off = x - means[:, None]  # deviations of the jackknife's means, up to a factor that cancels
    acceleration = (off**3).sum(1) / (off**2).sum(1) ** 1.5 / 6
    with np.errstate(all="ignore"):
        bias = ndtri((below + upto) / 2)
        z = bias + np.array([[1.0], [-1.0]]) * ndtri(0.5 - level / 2)
        return np.asarray(ndtr(bias + z / (1 - acceleration * z)))


def _quantiles(ordered: Floats, levels: Floats) -> Floats:
    """Two quantiles of each ascending row (samples, RESAMPLES): (2, samples), interpolated linearly; NaN for a NaN level."""
    at = levels * (ordered.shape[1] - 1)
    known = np.nan_to_num(at)
    first = np.minimum(known.astype(int), ordered.shape[1] - 2)
    rows = np.arange(len(ordered))
    low, high = ordered[rows, first], ordered[rows, first + 1]
    return np.where(np.isfinite(at), low + (known - first) * (high - low), np.nan)


def mean_intervals(samples: Sequence[ArrayLike], bounds: tuple[float, float] | None = None) -> tuple[Floats, Floats]:
    """Low and high of `mean_interval` at 95% for each of many samples of FEW or more values.

    Samples of one size are computed together.
    """
    values = [_values(sample, 0.95) for sample in samples]
    low, high = np.empty((2, len(samples)))
    for n in {len(x) for x in values}:
        at = [i for i, x in enumerate(values) if len(x) == n]
        x = np.stack([values[i] for i in at])
        found = np.array(_bca(x, 0.95))
        fallback = np.array(t_intervals(x.mean(1), x.std(1, ddof=1), n))
        low[at], high[at] = np.where(np.isfinite(found).all(0), found, fallback)
    if bounds is not None:
        low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
    return low, high


def median_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Median with an interval between two of the values. By the binomial law it covers the median of any distribution.

    The bounds are the innermost pair of order statistics that covers at least `level`; `method` gives the true coverage. They are
    NaN if even the extremes cover less (n < 6 at 95%), because bounds with less coverage would be misleading. ValueError for no
    values or NaN.
    """
    x = np.sort(_values(values, level))
    n, median = len(x), float(np.median(x))
    below = bdtr(np.arange(n), n, 0.5)  # [k]: probability that at most k values lie below the median
    k = int(np.searchsorted(below, (1 - level) / 2 * (1 + 1e-12), side="right")) - 1
    if k < 0:
        return Interval(median, np.nan, np.nan, n, "too few values")
    return Interval(median, float(x[k]), float(x[n - 1 - k]), n, f"order statistics, covers {1 - 2 * below[k]:.3f}")


def jackknife_interval(value: float, left_out: ArrayLike) -> Interval:
    """95% by Student's t for an estimate, from the estimates that leave out one of n values each."""
    left = finite("left_out", left_out)
    n = len(left)
    half = float(stdtrit(n - 1, 0.975) * np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))
    return Interval(float(value), float(value) - half, float(value) + half, n, "jackknife")


def bootstrap_interval(value: float, drawn: ArrayLike) -> Interval:
    """The central 95% of what resamples give for an estimate; n is the number of resamples."""
    values = finite("drawn", drawn)
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(value), float(low), float(high), len(values), "bootstrap", "resamples")


def _values(values: ArrayLike, level: float) -> Floats:
    level_between_0_and_1(level)
    if np.size(np.asarray(values)) == 0:
        raise ValueError("no values to average")
    return finite("values", values)


def t_intervals(
    mean: ArrayLike, sd: ArrayLike, n: ArrayLike, level: float = 0.95, bounds: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """Low and high of Student's t interval for each of many means, for example aggregates from SQL; arrays of one shape.

    `sd` divides by n - 1 (`stddev_samp`). NaN if n is 1, or if mean or sd is NaN. `bounds` as in `mean_interval`. ValueError for
    n < 1 or sd < 0.
    """
    level_between_0_and_1(level)
    means, sds, counts = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (mean, sd, n)))
    if (counts < 1).any() or not np.isfinite(counts).all():
        raise ValueError("n below 1: a mean of no values has no interval")
    if (sds < 0).any():
        raise ValueError("sd below 0")
    several = np.where(counts > 1, counts, np.nan)
    half = stdtrit(several - 1, 0.5 + level / 2) * sds / np.sqrt(several)
    low, high = means - half, means + half
    return (low, high) if bounds is None else (np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))


def ties_of_shares(mean: ArrayLike, n: ArrayLike) -> Floats:
    """Standard deviation to take for shares of n trials that are equal by chance: the binomial error of one, at least 1/n."""
    means = np.asarray(mean, dtype=float)
    return np.asarray(np.maximum(np.sqrt(np.clip(means * (1 - means), 0, None) / n), 1 / np.asarray(n, dtype=float)))
