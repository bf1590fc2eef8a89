"""Modes of a linear teacher, task `modes`, along training: how much of each is learnt, and whether the kernel knows them first.

curve_mode_k             f_k(e_k)/s_k, the k-th output at the k-th axis over the mode's strength: of a linear network
                         u_k' W_L .. W_1 v_k/s_k, 0 before it is learnt and 1 after [Saxe14]
curve_target_alignment   centred kernel alignment of last hidden features with the targets; silent alignment: it is near 1
                         while the loss is still that of the start [Atanasov22]
"""

import numpy as np

from sweepkit.declarations.columns import Condition
from sweepkit.declarations.metrics import MODES
from trainables.metrics.base import FEATURES, Group, Probe, Requested, metric
from trainables.richness.alignment import centred, cka
from trainables.streams import training_probe
from trainables.tasks import Modes

_REAL: Condition = (("targets", ("real",)),)


def _learnt(k: int) -> Requested:
    """The metric of mode k, counted from 1."""

    def share(probe: Probe) -> float | None:
        task = probe.cell.task
        if not isinstance(task, Modes) or task.rank < k:
            return None
        outputs = probe.at(np.eye(1, task.d, k - 1, dtype=np.float32)).outputs
        return float(outputs.ravel()[k - 1] / task.strengths[k - 1])

    share.__name__ = MODES[k - 1]
    share.__doc__ = f"Share f_k(e_k)/s_k of mode {k} of task `modes` that is learnt at each evaluation; None without such a mode."
    return metric(f"share of mode {k} that is learnt", per="evaluation", needs=_REAL)(share)


@metric("alignment of features with targets", low=0, high=1, better="higher", per="evaluation", needs=FEATURES + _REAL)
def curve_target_alignment(probe: Probe) -> float | None:
    """CKA of last hidden features and targets on training examples. None if either is constant. [Atanasov22]"""
    inputs, targets = training_probe(probe.cell)
    features, even = probe.at(inputs).features, np.full(len(inputs), 1 / len(inputs))
    x = None if features is None else centred(features, even)
    y = centred(targets, even)
    return None if x is None or y is None else cka(x, y)


METRICS: tuple[Requested, ...] = (*map(_learnt, range(1, len(MODES) + 1)), curve_target_alignment)
GROUP = Group("modes", tuple(one.name for one in METRICS))
