"""Sharpness: the largest eigenvalue of the training loss's Hessian, along which gradient descent oscillates first [Cohen21].

    theta_p <- theta_p - eta r_p dL/dtheta_p,  eta the network's rate at base_lr, r_p the factor of parameter p's rate
    sharpness = (eta/base_lr) lambda_max(R^(1/2) H R^(1/2)),  R the diagonal matrix of the r_p

So gradient descent is stable below 2/base_lr for any gamma and parametrisation; with momentum beta, below 2 (1 + beta)/base_lr.
H is of the first PROBED examples of a fixed training set, which are all of a small one, or of as many fresh ones.
"""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from sweepkit.declarations.columns import Condition
from trainables.metrics.base import ANSWERS_ONCE, Array, Group, Probe, metric
from trainables.streams import training_probe

if TYPE_CHECKING:
    from torch import Tensor

TOLERANCE = 1e-4
"""Relative error of the eigenvalue."""
_PLAIN: Condition = (*ANSWERS_ONCE, ("training", ("gd", "sgd")))
"""Adam and sign descent are stable where their own preconditioner says, which their results do not hold."""


@metric("sharpness, the largest eigenvalue of the loss's Hessian", logarithmic=True, needs=_PLAIN)
def sharpness(probe: Probe) -> float:
    """The sharpness at the end of training."""
    return _sharpness(probe)


@metric("sharpness over that at the edge of stability", needs=_PLAIN)
def edge(probe: Probe) -> float:
    """Sharpness at the end of training over 2 (1 + beta)/base_lr, beta the momentum: 1 at the edge of stability."""
    return _sharpness(probe) / _stable(probe)


@metric("sharpness, the largest eigenvalue of the loss's Hessian", logarithmic=True, per="evaluation", needs=_PLAIN)
def curve_sharpness(probe: Probe) -> float:
    """The sharpness at each evaluation."""
    return _sharpness(probe)


@metric("sharpness over that at the edge of stability", per="evaluation", needs=_PLAIN)
def curve_edge(probe: Probe) -> float:
    """`edge` at each evaluation."""
    return _sharpness(probe) / _stable(probe)


METRICS = (sharpness, edge, curve_sharpness, curve_edge)
GROUP = Group("edge_of_stability", tuple(one.name for one in METRICS))


def _stable(probe: Probe) -> float:
    training = probe.cell.descent
    return 2 * (1 + getattr(training, "momentum", 0.0)) / training.base_lr


_KNOWN: WeakKeyDictionary[Probe, float] = WeakKeyDictionary()


def _sharpness(probe: Probe) -> float:
    if probe not in _KNOWN:
        _KNOWN[probe] = largest_eigenvalue(probe)
    return _KNOWN[probe]


def largest_eigenvalue(probe: Probe) -> float:
    """The sharpness of a network as it is now, by Lanczos iteration on exact products of the Hessian with vectors, in float64."""
    # Here, so that a sweep that asks for none of this waits for none of it.
    import torch
    from scipy.sparse.linalg import LinearOperator, eigsh

    cell = probe.cell
    rates = cell.network.rates(cell.training)
    theta = {name: _double(value).requires_grad_() for name, value in probe.parameters.items()}
    root = [(cell.learning_rate / cell.descent.base_lr * rates.get(name, 1.0)) ** 0.5 for name in theta]
    values = list(theta.values())
    with torch.enable_grad():
        slopes = torch.autograd.grad(_loss(probe, theta), values, create_graph=True)

    def product(vector: Array) -> Array:
        parts = torch.split(_double(vector), [value.numel() for value in values])
        along = [part.view(value.shape) * factor for part, value, factor in zip(parts, values, root, strict=True)]
        changes = torch.autograd.grad(slopes, values, along, retain_graph=True, allow_unused=True, materialize_grads=True)
        return torch.cat([(change * factor).flatten() for change, factor in zip(changes, root, strict=True)]).numpy()

    n = sum(value.numel() for value in values)
    operator = LinearOperator((n, n), product, dtype=float)
    first = np.random.default_rng(0).standard_normal(n)
    return float(eigsh(operator, 1, which="LA", tol=TOLERANCE, v0=first, return_eigenvectors=False)[0])


def _loss(probe: Probe, theta: "dict[str, Tensor]") -> "Tensor":
    """The mean loss of the network with these parameters on training examples."""
    import torch

    from trainables.training.losses import loss_of

    cell, network = probe.cell, probe.cell.network
    inputs, targets = training_probe(cell)
    x = torch.as_tensor(inputs) if cell.task.inputs == "tokens" else _double(inputs)
    y = torch.as_tensor(targets).long() if cell.task.targets == "classes" else _double(targets)
    f = network.apply(theta, x, cell)
    if network.is_centred:
        f = f - network.apply({name: _double(value) for name, value in probe.initial.items()}, x, cell)
    return loss_of(cell).each(f / cell.epsilon, y).mean()


def _double(values: Array) -> "Tensor":
    import torch

    return torch.tensor(values, dtype=torch.float64)
