"""Numbers for a person: as many digits as their interval allows."""

import numpy as np

from sweepkit.stats import Interval


def decimals(low: float, high: float) -> int:
    """Decimals that show an interval's width to two digits; 4 if it has none."""
    width = high - low
    return int(np.clip(1 - np.floor(np.log10(width)), 0, 6)) if np.isfinite(width) and width > 0 else 4


def in_digits(value: float, low: float, high: float) -> str:
    """`0.888 (0.880 to 0.896)`; without bounds if there are none; `above 2.5` for a value beyond the measured range."""
    if np.isinf(value):
        return f"above {low:.3g}" if np.isfinite(low) else "beyond the range"
    n = decimals(low, high)
    shown, least, most = (f"{x:.{n}f}" if np.isfinite(x) else f"{x:g}" for x in (value, low, high))
    return shown if np.isnan(low) else f"{shown} ({least} to {most})"


def with_bounds(found: Interval) -> str:
    """`0.888 (0.880 to 0.896)`: the value with its interval; `0.5, exact` where nothing in it is drawn."""
    if found.spread == "exact" and found.low == found.high:
        return f"{found.value:.6g}, exact"
    return in_digits(found.value, found.low, found.high)


def with_interval(found: Interval) -> str:
    """`0.888 (0.880 to 0.896), n = 6`: the value with its interval, and the number of values."""
    return f"{with_bounds(found)}, n = {found.n}"
