"""Measurements of networks at equilibrium [Rubin25], beside theory that is computed for exactly their sizes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.claims.measuring import by_point, exponent_of
from analysis.claims.networks import networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.scaling.proportion import AS_ROOT, in_power, width_as
from analysis.scaling.thresholds import FEWEST_OF_LAW, thresholds
from analysis.theory.large_deviation import Size, as_scaling, n_specialised, slope
from analysis.theory.parity import specialised
from stats import Interval, linear_fit, mean_interval


def exponent_beside_bound(
    results: str,
    level: float,
    of: Mapping[str, Any],
    against: Size = "d",
    ratio: float = 1.0,
    prefer: Mapping[str, Any] | None = None,
) -> Measured | NotMeasured:
    """Exponent of P* at alignment `level`, minus the slope of the large-deviation bound over the same d and N.

    The networks are 2-layer erf networks on He_3. The exponent is in d at N = `ratio` d, or in the width at one d (`against`).
    """
    found = networks(results, of, "alignment_f", ("P", "d", "width") if against == "d" else ("P", "width"), prefer)
    if against == "d" and len(found.frame):
        found = found.narrowed(found.frame[found.frame["width"] == ratio * found.frame["d"]], width_as(ratio))
    if found.frame.empty:
        return NotMeasured(found.what)
    curves = thresholds(by_point(found.frame), level, "P")
    fit = exponent_of(curves, level, "P", against)
    if isinstance(fit, NotMeasured):
        return fit
    reached = curves[[t.reached == "reached" for t in curves["threshold"]]]
    scaling = as_scaling(str(found.frame["scaling"].iloc[0]))
    said = slope(level, reached["width"].to_numpy(), reached["d"].to_numpy(), scaling, against)
    value, low, high = fit.interval[:3]
    interval = fit.interval._replace(value=value - said, low=low - said, high=high - said)
    at = f"{fit.n_used} {against} from {fit.law.x_low:g} to {fit.law.x_high:g} ({fit.censored})"
    return Measured(
        interval,
        f"P* ~ {against}^b, b = {value:.2f} ({low:.2f} to {high:.2f}) minus the bound's {said:.2f}, {at}; {found.what}",
        found.again,
    )


def specialised_beside_bound(
    results: str, of: Mapping[str, Any], prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Ratio of the neurons that specialise in 2-layer erf networks on He_3 to the number that the bound asks for at the networks'
    alignment: its geometric mean over widths and seeds."""
    found, aligned = (networks(results, of, measure, ("width",), prefer) for measure in ("n_specialised_1", "alignment_f"))
    if found.frame.empty:
        return NotMeasured(found.what)
    frame = found.frame.merge(aligned.frame[["cell_id", "value"]].rename(columns={"value": "alignment"}), on="cell_id")
    by_width = frame.groupby("width")
    of_width = by_width[["value", "alignment", "d"]].mean()[(by_width["value"].min() > 0) & (by_width["alignment"].mean() > 0)]
    if len(of_width) < FEWEST_OF_LAW:
        return NotMeasured(f"neurons specialise in all networks of fewer than {FEWEST_OF_LAW} widths; {found.what}")
    scaling = as_scaling(str(found.frame["scaling"].iloc[0]))
    sizes = zip(of_width["alignment"], of_width.index, of_width["d"], strict=True)
    said = of_width.assign(bound=[n_specialised(alignment, int(N), int(d), scaling) for alignment, N, d in sizes])["bound"]
    # Networks of one seed share teacher and training set, whatever their width: only seeds are independent.
    logs = (frame["value"] / frame["width"].map(said)).map(np.log).groupby(frame["seed"]).mean()
    value, low, high = np.exp(mean_interval(logs)[:3])
    interval = Interval(float(value), float(low), float(high), len(logs), "t over seeds, of logarithms")
    each = ", ".join(f"{m:.3g} of {b:.3g} at N = {n}" for n, m, b in zip(said.index, of_width["value"], said, strict=True))
    return Measured(interval, f"{each}; {found.what}", found.again)


def magnitude_beside_one_neuron(
    results: str, of: Mapping[str, Any], prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Exponent in N of the magnitude of neurons that specialise on parity, minus that of one neuron's theory at the same sizes.

    Only networks whose P grows as sqrt(N) count. Most networks of a search for P lie near the threshold, where no neuron
    specialises.
    """
    found = networks(results, of, "magnitude_1", ("width", "P"), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    found = found.narrowed(in_power(found.frame, "P", AS_ROOT), "P ~ sqrt(N)")
    frame = found.frame
    sizes = frame[["d", "width", "P", "kappa"]].drop_duplicates()
    if sizes["width"].nunique() < FEWEST_OF_LAW:
        return NotMeasured(f"fewer than {FEWEST_OF_LAW} widths with P in proportion to sqrt(N); {found.what}")
    try:
        said = [specialised(*map(float, size)).magnitude for size in sizes.to_numpy()]
    except ValueError as error:
        return NotMeasured(str(error))
    value, low, high, n, *_ = linear_fit(np.log(frame["width"].to_numpy(float)), np.log(frame["value"])).slope
    theory = linear_fit(np.log(sizes["width"].to_numpy(float)), np.log(said)).slope.value
    interval = Interval(value - theory, low - theory, high - theory, n, "t over networks")
    what = f"|mu| ~ N^b, b = {value:.3f} ({low:.3f} to {high:.3f}) minus one neuron's {theory:.3f}; {found.what}"
    return Measured(interval, what, found.again)
