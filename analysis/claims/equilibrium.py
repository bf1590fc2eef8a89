"""Measurements of networks at equilibrium [Rubin25] beside what is computed for their very sizes."""

from collections.abc import Mapping
from typing import Any

from analysis.claims.measuring import by_point, exponent_of
from analysis.claims.networks import networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.scaling import thresholds
from analysis.theory.large_deviation import slope


def exponent_beside_bound(
    results: str, level: float, of: Mapping[str, Any], ratio: float = 1.0, prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Exponent of P*(d) at alignment `level` of 2-layer erf networks on He_3, N = `ratio` d; minus the slope that the
    large-deviation bound has over the same d and N."""
    found = networks(results, of, "alignment_f", ("P", "d", "width"), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    frame = found.frame[found.frame["width"] == ratio * found.frame["d"]]
    if frame.empty:
        return NotMeasured(f"no networks with N = {ratio:g} d")
    curves = thresholds(by_point(frame), level, "P")
    fit = exponent_of(curves, level, "P", "d")
    if isinstance(fit, NotMeasured):
        return fit
    reached = curves[[t.reached == "reached" for t in curves["threshold"]]]
    scaling = str(found.frame["scaling"].iloc[0])
    said = slope(
        level, reached["width"].to_numpy(), reached["d"].to_numpy(), "mean_field" if scaling == "mean_field" else "standard"
    )
    value, low, high = fit.interval[:3]
    interval = fit.interval._replace(value=value - said, low=low - said, high=high - said)
    at = f"N = {ratio:g} d, {fit.n_used} d from {fit.law.x_low:g} to {fit.law.x_high:g} ({fit.censored})"
    return Measured(
        interval,
        f"P* ~ d^b, b = {value:.2f} ({low:.2f} to {high:.2f}) minus the bound's {said:.2f}, {at}; {found.what}",
        found.again,
    )
