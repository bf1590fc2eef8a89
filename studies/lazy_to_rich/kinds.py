"""How steps grow, or their ratio."""

from collections.abc import Mapping

from analysis.claims.kinds.along import counted, first_evaluations
from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import Found, slope_of
from analysis.claims.networks_used import Where
from analysis.claims.verdict import NotMeasured
from analysis.data.networks.evaluations import Bounds, in_words


@kind
def steps_exponent(
    results: str,
    when: Bounds,
    of: Where,
    over: str,
    before: Bounds | None = None,
    growing: Mapping[str, float] | None = None,
    prefer: Where | None = None,
) -> Found:
    """Exponent in the key `over` of the first step within the bounds `when`; if `before` is given, of its ratio to the first one
    within those, as in `steps_ratio`. Seeds and `growing` are as in `slope`; networks without such evaluations are left out."""
    powers = dict(growing or {})
    events = {"": when} | ({"before": before} if before else {})
    found, first = first_evaluations(results, (), events, of, prefer, (over, *powers))
    if first.empty:
        return NotMeasured(counted(found, first))
    value = first["step"] / first["step before"] if before else first["step"]
    # Networks without such evaluations stay in words only: their steps are unknown.
    reached = found.every.assign(value=found.every["cell_id"].map(value)).dropna(subset="value")
    told = f"step at which {in_words(when)}" + (f", over that at which {in_words(before)}" if before else "")
    lost = len(found.every) - len(reached)
    told += f"; {found.told}" + (f"; {lost} networks left out, without such evaluations" if lost else "")
    return slope_of(found._replace(every=reached, told=told), over, True, powers)
