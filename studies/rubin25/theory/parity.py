"""A ReLU neuron that specialises on the parity of two bits under cross entropy, at finite sizes [Rubin25 App. E.2].

d, N   input dimension and width, v = 1/N the readouts' prior variance; P examples, kappa as in the posterior
e      a relevant direction, +-e_1 +-e_2 over sqrt(2): e.x is sqrt(2) on a quarter of the inputs, -sqrt(2) on one, else 0
c      overlap of the neuron with e, and b its readout, both N(0, 1) under the prior; mu = c/sqrt(d)
F      its answer, the logit on its own quarter: sqrt(2 v/d) c b
h      curvature of the loss there, sigma(F) sigma(-F)

[Rubin25] has c^2/2 + b^2/2 at a given F, so that mu = (N/d)^(1/4) up to a constant. Two terms more give the constant and the
dependence on sizes: the loss of the quarter, P/(4 kappa) log(1 + exp(-F)), sets F; and the other d - 1 weights of the neuron are
noise in f, of variance b^2 v/d each, on its quarter whole and on two quarters half: integrated out they cost
(d - 1)/2 log(1 + P h b^2 v/(2 d kappa)).
Narrow networks avoid it by larger c and smaller b, so that mu grows more slowly than (N/d)^(1/4) until N/d is large.
Four such neurons answer, each for itself; constants in f and the neurons that stay at the prior are left out.
"""

from typing import Any, NamedTuple

import numpy as np

from .large_deviation import OUTLIER

Array = np.ndarray[Any, Any]

N_GRID = 800
"""Number of grid points of c, and of b, over a range of some ten deviations about the peak, whose deviation is about 1."""


class Specialised(NamedTuple):
    """Means for one neuron, over its posterior where it counts as specialised."""

    magnitude: float
    """sqrt(<mu^4>/<mu^2>), as networks are measured."""
    answer: float
    """<F>."""


def specialised(d: float, width: float, n_train: float, kappa: float = 1.0) -> Specialised:
    """The specialised neuron at these sizes, in standard scaling. ValueError if the least energy is not at a c beyond OUTLIER:
    then the neuron does not specialise."""
    scale = np.sqrt(2 / (width * d))
    # At the peak F < log(P/kappa): beyond, the loss of all examples is less than one nat.
    highest = np.sqrt(np.log(2 + n_train / kappa) / scale) + 8
    grid = np.linspace(highest / N_GRID, highest, N_GRID)
    c, b = np.meshgrid(grid, grid, indexing="ij")
    answer = scale * c * b
    curvature = 1 / (2 + np.exp(answer) + np.exp(-answer))
    energy = c**2 / 2 + b**2 / 2 + n_train / (4 * kappa) * np.log1p(np.exp(-answer))
    energy += (d - 1) / 2 * np.log1p(n_train * curvature * b**2 / (2 * width * d * kappa))
    inside = c > OUTLIER
    peak = np.where(inside, energy, np.inf).min()
    if energy[~inside].min() <= peak:
        raise ValueError(f"with {n_train} examples no neuron specialises: d = {d}, N = {width}, kappa = {kappa}")
    weight = np.exp(peak - energy) * inside
    power2, power4 = (float((weight * c**k).sum()) for k in (2, 4))
    return Specialised(float(np.sqrt(power4 / power2 / d)), float((weight * answer).sum() / weight.sum()))
