"""The test error of a committee on the square of one component, as a sum of three terms that training moves at different times.

f = (a/m) sum_i phi(w_i.x), phi(h) = h + e h^2/2   network `committee`; M = mean_i w_i w_i', w = mean_i w_i
y = (w*.x)^2/2, |w*| = 1, x ~ N(0, I)              task `square`
f - y = a w.x + x'A x/2, A = a e M - w* w*'        odd and even in x, so that their powers add
E (f - y)^2 = (Tr A/2)^2 + |A|^2/2 + a^2 |w|^2     the constant's, the quadratic part's and the linear part's error [Kumar23]

The linear part is of no use to the target: it rises as examples are learnt by heart. The quadratic part falls as neurons align.
[Kumar23] has x ~ N(0, I/D) and targets (b.x)^2/2: here b = sqrt(D) w*.
"""

import numpy as np

from sweepkit.declarations.columns import Condition
from trainables.metrics.base import Array, Group, Probe, metric
from trainables.networks import Committee
from trainables.streams import stream, stream_owner
from trainables.tasks import Square

_COMMITTEE: Condition = (("network", (Committee.name,)),)


@metric("test error of the mean output", low=0, logarithmic=True, per="evaluation", needs=_COMMITTEE)
def curve_error_constant(probe: Probe) -> float | None:
    """(Tr A/2)^2; None for a task other than `square`."""
    return None if (a := _quadratic(probe)) is None else float(np.trace(a) / 2) ** 2


@metric("test error of the quadratic part", low=0, logarithmic=True, per="evaluation", needs=_COMMITTEE)
def curve_error_quadratic(probe: Probe) -> float | None:
    """|A|^2/2; None for a task other than `square`."""
    return None if (a := _quadratic(probe)) is None else float((a**2).sum() / 2)


@metric("test error of the linear part", low=0, logarithmic=True, per="evaluation", needs=_COMMITTEE)
def curve_error_linear(probe: Probe) -> float | None:
    """a^2 |w|^2; None for a task other than `square`."""
    if not isinstance(probe.cell.task, Square):
        return None
    return float((probe.parameters["w"].mean(1, dtype=float) ** 2).sum() / probe.cell.epsilon**2)


METRICS = (curve_error_constant, curve_error_quadratic, curve_error_linear)
GROUP = Group("error_terms", tuple(one.name for one in METRICS))


def _quadratic(probe: Probe) -> Array | None:
    """A (D, D) in float64."""
    cell, network = probe.cell, probe.cell.network
    if not isinstance(cell.task, Square):
        return None
    assert isinstance(network, Committee)
    w = probe.parameters["w"].astype(float)
    target = cell.task.draw_symbols(stream(stream_owner(cell), "symbols")).astype(float)
    return np.asarray(network.curvature / cell.epsilon * (w @ w.T) / network.width - np.outer(target, target))
