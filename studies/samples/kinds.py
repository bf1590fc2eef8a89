"""How the samples grow that networks see until something holds."""

from collections.abc import Sequence

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found
from analysis.claims.networks_used import Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.data.networks.evaluations import Bounds, evaluations_of, in_words
from sweepkit.stats import FEWEST_OF_LAW

from .growth import SAMPLES, growth, samples_until


@kind
def samples_exponent(
    results: str, when: Bounds, of: Where, against: str = "d", zipped: Sequence[str] = (), prefer: Where | None = None
) -> Found:
    """Exponent in `against` of the samples, batch times steps, that networks see until the bounds `when` hold first: the slope of
    the line through all networks on logarithmic axes, 95% by Student's t. NotMeasured where they do not hold for all networks of
    a size below the largest: without the late ones its mean would be too small.

    zipped: keys that differ between sizes, such as a rate that falls with d; steps and evaluations may, too.
    """
    evaluations = evaluations_of(results, [*when])[0]
    axes = (against, "steps", "eval_every", *zipped)
    found = networks(results, of, None, axes, prefer, frozenset(evaluations["cell_id"]))
    if found.frame.empty:
        return NotMeasured(found.what)
    seen = samples_until(found.frame, evaluations[evaluations["cell_id"].isin(found.frame["cell_id"])], when)
    grown = growth(seen, against)
    if grown.exponent is None or (grown.late[against] < grown.means[against].max()).any():
        late = grown.late.itertuples(index=False, name=None)
        lost = ", ".join(f"{some} of {n} at {against} = {size:g}" for size, some, n in late)
        told = (
            f"networks in which {in_words(when)} never holds: {lost}" if lost else f"fewer than {FEWEST_OF_LAW} {spoken(against)}"
        )
        return NotMeasured(f"{told}; {found.what}")
    shown = ", ".join(f"{mean:.3g} at {size:g}" for size, mean in zip(grown.means[against], grown.means["mean"], strict=True))
    return Measured(
        grown.exponent, f"exponent b of {SAMPLES} until {in_words(when)} ~ {against}^b: {shown}; {found.what}", found.again
    )
