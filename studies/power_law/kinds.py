"""The envelope of compute over sizes."""

import numpy as np
import pandas as pd

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.networks.evaluations import evaluations_of
from sweepkit.declarations.columns import Metric
from sweepkit.stats import by_decades, mean_interval, power_law
from sweepkit.store.views import declared

from .envelope import COMPUTE, SIZE, envelope


@kind
def envelope_exponent(
    results: str,
    measure: str,
    of: Where,
    over: str,
    first: float,
    last: float,
    of_size: bool = False,
    prefer: Where | None = None,
) -> Found:
    """Exponent of the least error that compute allows in compute, C = `over` times step, from C = `first` to `last`: the slope,
    on logarithmic axes, of the lower envelope over sizes of the curves' means over seeds. With `of_size` it is the exponent with
    which the best size grows. Value and interval are the jackknife's over seeds, as the least of noisy curves is biased."""
    evaluations = evaluations_of(results, (measure,))[0]
    found = networks(results, of, None, [over], prefer, among=frozenset(evaluations["cell_id"]))
    if found.frame.empty:
        return NotMeasured(found.what)
    sizes = found.frame.groupby("seed")[over].nunique()
    whole = sizes.index[sizes == found.frame[over].nunique()]  # the envelope of fewer sizes lies higher
    shown = evaluations[evaluations[measure] > 0].merge(found.frame[["cell_id", "seed", over]], on="cell_id")
    compute = by_decades(first, last)

    def exponent(seeds: "pd.Index[int]") -> float:
        means = shown[shown["seed"].isin(seeds)].groupby([over, "step"])[measure].mean().reset_index()
        least = envelope(means, over, measure, compute)
        inside = least[np.isfinite(least[SIZE])] if of_size else least
        if len(inside) < 3 or len(least) < len(compute):
            return np.nan
        return power_law(inside[COMPUTE], inside[SIZE if of_size else measure]).exponent.value

    n = len(whole)
    all_seeds = exponent(whole) if n else np.nan
    each = [n * all_seeds - (n - 1) * exponent(whole.drop(seed)) for seed in whole] if n > 1 else [all_seeds]
    if not np.isfinite(each).all():
        return NotMeasured(f"no seed reaches from C = {first:g} to {last:g} at every {over}: {found.what}")
    what = declared(results)[measure]
    assert isinstance(what, Metric)
    told = f"exponent b of best {over} ~ C^b" if of_size else f"exponent b of least {what.title} ~ C^b"
    lost = f", {len(sizes) - n} of {len(sizes)} seeds without every {over} left out" if n < len(sizes) else ""
    return Measured(mean_interval(each), f"{told}, C = {over} x step from {first:g} to {last:g}{lost}; {found.what}", found.again)
