"""How far the identities that a transformer adds to its attention have grown [Boix23 Sec. 1.1, 5]."""

from collections.abc import Mapping

import numpy as np

from sweepkit.declarations.columns import Condition
from trainables.metrics.base import Array, Probe, metric
from trainables.networks import all_networks

_WITH_IDENTITIES: Condition = (
    ("network", tuple(network.name for network in all_networks() if "identity_qk" in network.model_fields)),
)


@metric("mean size of the identities added to queries and keys", low=0, logarithmic=True, needs=_WITH_IDENTITIES)
def identity_qk_mean(probe: Probe) -> float:
    """Mean of |a_h| over heads and layers, and 0 for a network whose identities are not trained."""
    return _mean(probe.parameters, "a")


@metric("mean size of the identities added to values and output", low=0, logarithmic=True, needs=_WITH_IDENTITIES)
def identity_vo_mean(probe: Probe) -> float:
    """Mean of |b_h| over heads and layers, and 0 for a network whose identities are not trained."""
    return _mean(probe.parameters, "b")


def _mean(parameters: Mapping[str, Array], letter: str) -> float:
    """Mean size over the parameters a1, a2, ... of the layers."""
    return float(
        np.mean([np.abs(value).mean() for name, value in parameters.items() if name[0] == letter and name[1:].isdigit()])
    )
