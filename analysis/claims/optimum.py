"""Where networks are best: the exponent of the best value of a key, such as the learning rate of least loss."""

from collections.abc import Mapping

import numpy as np

from analysis.claims.networks import Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.measures import measures
from analysis.scaling.optimum import growth_exponent, optima
from analysis.scaling.proportion import in_power


def optimum_exponent(
    results: str,
    measure: str,
    of: Where,
    over: str = "base_lr",
    against: str = "width",
    as_powers: Mapping[str, float] | None = None,
    prefer: Where | None = None,
) -> Measured | NotMeasured:
    """Exponent in `against` of the value of `over` at which the measure is best: the mean over seeds of the slope of each seed's
    best values, 95% by Student's t. Networks that diverged are the worst. NotMeasured where a best value is at an end of those
    tried.

    as_powers: keys that grow with `against` as these powers of it, in one proportion; networks with other values are left out.
    """
    powers = dict(as_powers or {})
    found = networks(results, of, measure, (over, against, *powers), prefer, with_diverged=True)
    for key, power in powers.items() if len(found.every) else ():
        found = found.narrowed(in_power(found.every, key, {against: power}), f"{key} ~ {against}^{power:g}")
    if found.frame.empty:
        return NotMeasured(found.what)
    values = found.frame["value"].to_numpy(float)
    worse = values if measures(results)[measure].falls else np.where(np.isinf(values), np.inf, -values)
    best = optima(found.frame.assign(value=worse), over, against)
    if (best["at"] != "").any():
        open_one = best[best["at"] != ""].iloc[0]
        return NotMeasured(f"at {against} = {open_one[against]:g} the best {spoken(over)} is {open_one['at']}: widen its range")
    interval = growth_exponent(best, against)
    if interval is None:
        return NotMeasured(f"networks of one {against} only")
    diverged = int(np.isinf(values).sum())
    means = best.groupby(against)["x"].apply(lambda x: np.exp(np.log(x).mean()))
    told = ", ".join(f"{x:.3g} at {size:g}" for size, x in means.items())
    lost = f", {diverged} of them diverged" if diverged else ""
    return Measured(interval, f"best {spoken(over)} ~ {against}^b: {told}; {found.what}{lost}", found.again)
