"""How far a neuron's balance has drifted: |w_in|^2 - |w_out|^2, which gradient flow conserves for ReLU and linear neurons [Du18].

Scaling w_in (with its bias) by c > 0 and w_out by 1/c leaves the network as it is. So w_in . dL/dw_in = w_out . dL/dw_out for
every loss and batch, and flow with rates r_in and r_out conserves |w_in|^2/r_in - |w_out|^2/r_out. A step of SGD at the rate eta
changes it by exactly eta^2 (r_in |g_in|^2 - r_out |g_out|^2): at a given eta x steps the drift is proportional to eta. Adam and
weight decay do not conserve it.
"""

from collections.abc import Mapping

import numpy as np

from sweepkit.declarations.columns import Condition
from trainables.cell import Cell
from trainables.metrics.base import Array, Probe, metric
from trainables.networks import MLP, TwoLayer

_SUCCESSIVE: Condition = (("network", (TwoLayer.name, MLP.name)),)


@metric("largest drift of a neuron's balance of weights", low=0, logarithmic=True, needs=_SUCCESSIVE)
def balance_drift(probe: Probe) -> float | None:
    """Largest |change of |w_in|^2/r_in - |w_out|^2/r_out| of a hidden neuron since initialisation, over the initial mean of
    |w_in|^2/r_in in its layer; None unless neurons are ReLU or linear and all layers train. [Du18]"""
    network = probe.cell.network
    if isinstance(network, MLP) and (network.activation not in ("relu", "linear") or network.trained != "all"):
        return None
    drifts = []
    for (start_in, start_out), (now_in, now_out) in zip(
        _norms(probe.cell, probe.initial), _norms(probe.cell, probe.parameters), strict=True
    ):
        drifts.append(np.abs((now_in - now_out) - (start_in - start_out)).max() / start_in.mean())
    return float(max(drifts))


def _norms(cell: Cell, parameters: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """(|w_in|^2/r_in, |w_out|^2/r_out) of each hidden layer's neurons, (neurons,) each in float64."""
    rates = cell.network.rates(cell.training)
    squared = {name: np.square(value, dtype=float) / rates.get(name, 1.0) for name, value in parameters.items()}
    if isinstance(cell.network, TwoLayer):
        return [(squared["w"].sum(0), squared["a"])]
    assert isinstance(cell.network, MLP)
    return [
        (squared[f"w{layer}"].sum(0) + squared.get(f"b{layer}", 0.0), squared[f"w{layer + 1}"].sum(1))
        for layer in range(1, cell.network.depth + 1)
    ]
