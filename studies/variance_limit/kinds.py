"""Measurements of the onset of variance: the examples from which networks of finite width are worse than infinite ones."""

import numpy as np
import pandas as pd

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Networks, Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from sweepkit.stats import FEWEST_OF_LAW, Interval

from ..fluctuations.outputs import DATA, SIZE, outputs_of
from .onset import EXAMPLES, Onset, errors, onset

MEASURE = "test_mse"


@kind
def onset_exponent(
    results: str, of: Where, infinite: Where, factor: float, ensemble: bool = False, prefer: Where | None = None
) -> Found:
    """Exponent of the width in P*, the examples from which the error is `factor` times that of the `infinite` networks; with
    `ensemble`, of the ensembles of all seeds of a data set. Of `infinite` networks with several seeds the ensemble counts."""
    found, law = _onset(results, of, infinite, factor, ensemble, prefer)
    if isinstance(law, NotMeasured):
        return law
    told = ", ".join(f"{point['mean']:.3g} at {point[SIZE]:g}" for point in law.points.to_dict("records"))
    if law.exponent is None:
        return NotMeasured(f"P* lies within the P tried at fewer than {FEWEST_OF_LAW} widths: {told}; {found.what}")
    return Measured(law.exponent, f"exponent b of P* ~ width^b for {factor:g} times the error: {told}; {found.what}", found.again)


@kind
def onset_ratio(
    results: str,
    of: Where,
    infinite: Where,
    factor: float,
    over: Where | None = None,
    over_infinite: Where | None = None,
    prefer: Where | None = None,
) -> Found:
    """P* of the networks over that of `over`, beside `over_infinite`; without these, P* of their ensembles over their own P*. The
    geometric mean over the widths at which both have one."""
    found, law = _onset(results, of, infinite, factor, over is None, prefer)
    _, other = _onset(results, over or of, over_infinite or infinite, factor, False, prefer)
    for one in (law, other):
        if isinstance(one, NotMeasured):
            return one
    assert isinstance(law, Onset) and isinstance(other, Onset)
    both = law.draws.columns.intersection(other.draws.columns)
    if len(both) < 2:
        there = f"width {both[0]:g} alone" if len(both) else "no width"
        return NotMeasured(f"{there} has both P* within the P tried; {found.what}")
    drawn = np.exp((np.log(law.draws[both]) - np.log(other.draws[both])).mean(axis=1).to_numpy(float))
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    told = ", ".join(f"{law.draws[size][0]:.3g} over {other.draws[size][0]:.3g} at width {size:g}" for size in both)
    interval = Interval(float(drawn[0]), float(low), float(high), len(both), "bootstrap", "widths")
    return Measured(interval, f"ratio of P*, {told}; {found.what}", found.again)


def _onset(
    results: str, of: Where, infinite: Where, factor: float, ensemble: bool, prefer: Where | None
) -> tuple[Networks, "Onset | NotMeasured"]:
    found = networks(results, of, MEASURE, (SIZE, EXAMPLES, DATA), prefer)
    limit = networks(results, infinite, MEASURE, (EXAMPLES, DATA), prefer)
    for side in (found, limit):
        if side.frame.empty:
            return found, NotMeasured(side.what)
    outputs = outputs_of(results, pd.concat([found.frame["cell_id"], limit.frame["cell_id"]]))
    own = errors(found.frame, outputs, ensemble)
    # A kernel is its own ensemble: one network, without spread.
    widest = errors(limit.frame.fillna({SIZE: 0}), outputs, ensemble=True)
    if own.empty or widest.empty:
        return found, NotMeasured(f"networks without outputs, or without data_seed: {found.what}")
    return found, onset(own, widest, factor)
