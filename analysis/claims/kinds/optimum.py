"""Where networks are best, or worst: the value of a key, such as the learning rate of least loss, and its exponent in another."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd

from analysis.claims.networks_used import Networks, Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.measures import measures
from analysis.scaling.optimum import edge, growth_exponent, mean_on_grid, optima, optimum
from analysis.scaling.proportion import in_power
from sweepkit.console.words import counted

Which = Literal["best", "worst", "largest stable"]
"""Which value of a key a network's measure singles out."""


def optimum_exponent(
    results: str,
    measure: str,
    of: Where,
    over: str = "base_lr",
    against: str = "width",
    as_powers: Mapping[str, float] | None = None,
    which: Which = "best",
    prefer: Where | None = None,
) -> Measured | NotMeasured:
    """Exponent in `against` of the value of `over` at which the measure is best or worst, or of the `largest stable` one, above
    which networks diverge: the mean over seeds of the slope of each seed's values, 95% by Student's t and the grid's spacing.
    Networks that diverged are the worst. NotMeasured where such a value is at an end of those tried.

    as_powers: keys that grow with `against` as these powers of it, in one proportion; networks with other values are left out.
    """
    powers = dict(as_powers or {})
    found = networks(results, of, measure, (over, against, *powers), prefer, with_diverged=True)
    for key, power in powers.items() if len(found.every) else ():
        found = found.narrowed(in_power(found.every, key, {against: power}), f"{key} ~ {against}^{power:g}")
    best = _optima(results, found, measure, over, against, which)
    if isinstance(best, NotMeasured):
        return best
    interval = growth_exponent(best, against)
    if interval is None:
        return NotMeasured(f"networks of one {against} only")
    diverged = int(np.isinf(found.frame["value"].to_numpy(float)).sum())
    means = best.groupby(against)["x"].apply(lambda x: np.exp(np.log(x).mean()))
    told = ", ".join(f"{x:.3g} at {size:g}" for size, x in means.items())
    lost = f", {diverged} of them diverged" if diverged else ""
    told = f"{told}{_incomplete(found, best, over, against)}; {found.what}{lost}"
    return Measured(interval, f"exponent b of {which} {spoken(over)} ~ {against}^b: {told}", found.again)


def peak_ratio(
    results: str, measure: str, of: Where, over: str, against: str, power: float, prefer: Where | None = None
) -> Measured | NotMeasured:
    """The value of `over` at which the measure of each seed is worst, over the `power` of the one value of `against`: geometric
    mean, 95% by Student's t of logarithms and the grid's spacing. NotMeasured where a seed's worst value is at an end of those
    tried."""
    found = networks(results, of, measure, (over, against), prefer)
    worst = _optima(results, found, measure, over, against, "worst")
    if isinstance(worst, NotMeasured):
        return worst
    if (sizes := worst[against].nunique()) != 1:
        return NotMeasured(f"networks of {sizes} {against}, where one is asked for: {found.what}")
    interval = mean_on_grid(np.log(worst["x"] / worst[against] ** power), float(worst["step"].mean()))
    value, low, high = (float(np.exp(end)) for end in interval[:3])
    told = f"ratio of the worst {spoken(over)} to {against}^{power:g}{_incomplete(found, worst, over, against)}; {found.what}"
    return Measured(interval._replace(value=value, low=low, high=high), told, found.again)


def _optima(results: str, found: Networks, measure: str, over: str, against: str, which: Which) -> pd.DataFrame | NotMeasured:
    """The values of `over` for each seed, none of them at an end of those tried."""
    if found.frame.empty:
        return NotMeasured(found.what)
    values = found.frame["value"].to_numpy(float)
    bad = values if measures(results)[measure].falls else np.where(np.isinf(values), np.inf, -values)
    seen = found.frame.assign(value=-bad if which == "worst" else bad)
    best = optima(seen, over, against, edge if which == "largest stable" else optimum)
    if best.empty:
        return NotMeasured(f"no seed has every {spoken(over)} at one {against}: {found.what}")
    if (best["at"] != "").any():
        open_one = best[best["at"] != ""].iloc[0]
        where = f"at {against} = {open_one[against]:g} the {which} {spoken(over)} is {open_one['at']}"
        return NotMeasured(f"{where}: widen its range")
    return best


def _incomplete(found: Networks, best: pd.DataFrame, over: str, against: str) -> str:
    """Says how many seeds are left out because they lack some of the values; empty where none is."""
    missing = found.frame.groupby([against, "seed"]).ngroups - len(best)
    return f"; {counted(missing, 'seed')} without every {spoken(over)} left out" if missing else ""
