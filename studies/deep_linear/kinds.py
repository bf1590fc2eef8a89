"""The time at which modes are learnt, beside the theory of deep linear networks."""

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.kinds.times import counted, crossed
from analysis.claims.networks_used import Where
from analysis.claims.verdict import Measured, NotMeasured
from sweepkit.stats import mean_interval

from .mode_times import times_over_theory


@kind
def time_beside_modes(results: str, measure: str, reaches: float, of: Where, prefer: Where | None = None) -> Found:
    """Mean over networks of the time at which a share of a mode of task `modes` is learnt, over the theory's time for deep linear
    networks of their keys."""
    found, frame = crossed(results, measure, reaches, of, (), prefer)
    if frame.empty:
        return NotMeasured(counted(found, frame))
    ratios = times_over_theory(frame, measure, reaches).dropna()
    if ratios.empty:
        return NotMeasured(f"the theory does not speak of these networks: {found.what}")
    what = f"ratio of the time to {measure} = {reaches:g} to the theory's; step {frame['crossed'].median():.5g} (median)"
    return Measured(mean_interval(ratios), f"{what}; {counted(found, frame)}", found.again)
