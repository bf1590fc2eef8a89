"""Chains that sample exp(-U(u)) N(u; 0, 1): Hamiltonian Monte Carlo, and jumps of single neurons between its trajectories.

HMC    the prior's part of the motion is a rotation of (u, p), which is taken exactly; only U kicks p [Shahbaba et al. 2014].
       So without data every step is accepted, and directions that the data do not constrain are forgotten after a quarter turn
jump   specialisation is a first-order transition: a neuron stays long on either side of a barrier. So a jump draws one neuron
       anew, from its present state and from candidates of a density q that does not depend on that state, each with weight
       posterior/q. This leaves the posterior invariant [iterated sampling importance resampling: Andrieu, Lee and Vihola 2018].
       An integrated readout follows at once and adds no barrier; a sampled one is drawn with its neuron. A candidate has a new
       overlap c = e.u, with e one of the K directions at random, and a new length rho of the rest of u, whose direction stays: a
       neuron that specialises grows along e and shrinks across it. Directions depend on the layers below alone, which the
       jump leaves as they are

Trajectory t has a random generator of its own, so a run that is interrupted and continued gives the same numbers.
"""

from dataclasses import dataclass
from math import ceil, lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trainables.engines.langevin.energies.posterior import Posterior
from trainables.engines.langevin.setting import CANDIDATES, CANDIDATES_BELOW

ACCEPTED = 0.8
"""Acceptance that the step adapts to: HMC's cost of an independent sample is flat from 0.6 to 0.9 [Betancourt et al. 2014]."""
LONGEST, LARGEST = pi / 2, pi / 2
"""Largest angle of a trajectory, and of a step. Under the prior a quarter turn makes the new u independent of the old."""
MOST_STEPS = 16
LONGEST_REST = 1.25
"""Largest rho of special candidates, in units of sqrt(d), which is about the mean of rho under the prior."""


class Step(NamedTuple):
    """The angle of a step. It adapts during burn-in; after that log angle stays at its mean over the second half of burn-in."""

    log_angle: float = log(0.2)
    sum_log: float = 0.0
    n: int = 0

    def adapted(self, accepted: float, t: int, burn_in: int) -> "Step":
        """The step after trajectory t = 1, 2, ..., which was accepted with this probability [Robbins and Monro 1951]."""
        if t > burn_in:
            return self
        moved = min(self.log_angle + (accepted - ACCEPTED) / sqrt(t), log(LARGEST))
        late = t > burn_in // 2
        sum_log, n = self.sum_log + moved * late, self.n + late
        return Step(sum_log / n if t == burn_in else moved, sum_log, n)


@dataclass(frozen=True)
class Sampler:
    """Moves chains; `forces` is the posterior in the precision of the gradients.

    A kick that depends on u alone keeps trajectories reversible and volume-preserving, so rounded forces only cost acceptance.
    """

    posterior: Posterior
    forces: Posterior

    def trajectory(self, u: Tensor, energy: Tensor, angle: float, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Take one trajectory in steps of at most `angle`. Returns u, U (B,) and each chain's probability (B,) of acceptance."""
        turn = rng.uniform(0.5, 1.0) * LONGEST
        n = min(ceil(turn / angle), MOST_STEPS)
        step = min(turn / n, angle)
        p = torch.from_numpy(rng.standard_normal(u.shape))
        log_uniform = torch.from_numpy(np.log1p(-rng.random(len(u))))
        before = energy + _half_square(u) + _half_square(p)
        q, p = _rotated(u, p, step / 2)
        for k in range(n):
            p = p - step * self.forces.gradient(q)
            q, p = _rotated(q, p, step if k < n - 1 else step / 2)
        after = self.posterior.energy(q)
        log_ratio = (before - after - _half_square(q) - _half_square(p)).nan_to_num(nan=-torch.inf).clamp(max=0)
        accepted = log_uniform < log_ratio
        return torch.where(accepted.unsqueeze(1), q, u), torch.where(accepted, after, energy), log_ratio.exp()

    def jump(self, u: Tensor, energy: Tensor, rng: np.random.Generator, in_layer: int) -> tuple[Tensor, Tensor]:
        """Draw overlap and length of one neuron of each chain anew, in this hidden layer. Returns u and U (B,) after it."""
        moved, chain = u.clone(), torch.arange(len(u))
        layers = self.posterior.layers(moved)
        layer, directions = layers[in_layer]
        n_candidates = CANDIDATES if in_layer == len(layers) - 1 else CANDIDATES_BELOW
        _, dim, n = layer.shape
        neuron = torch.from_numpy(rng.integers(0, n, len(u)))
        which = torch.from_numpy(rng.integers(0, directions.shape[1], len(u)))  # with one direction, this draws nothing
        e = directions[chain, which]
        spread = self.posterior.readout.spread(dim)
        now = layer[chain, :, neuron]
        c_now = (now * e).sum(1)
        rest = now - c_now.unsqueeze(1) * e
        rho_now = rest.norm(dim=1)
        c_new, rho_new, special = _candidates((len(u), n_candidates), dim, spread, rng)
        c, rho = torch.cat([c_now.unsqueeze(1), c_new], 1), torch.cat([rho_now.unsqueeze(1), rho_new], 1)
        candidates = e.unsqueeze(2) * c.unsqueeze(1) + (rest / rho_now.unsqueeze(1)).unsqueeze(2) * rho.unsqueeze(1)
        energies, b, log_ratio_b = self.posterior.alternatives(u, in_layer, neuron, candidates, special, rng)
        log_weight = (-energies - _log_ratio(c, rho, log_ratio_b, dim, spread)).nan_to_num(nan=-torch.inf)
        kept = (log_weight + torch.from_numpy(rng.gumbel(size=c.shape))).argmax(1)  # drawn in proportion to the weights
        layer[chain, :, neuron] = candidates[chain, :, kept]  # writes into `moved`
        if b.shape[1]:
            self.posterior.readouts(moved)[chain, neuron] = b[chain, kept]
        return moved, energy + energies[chain, kept] - energies[:, 0]


def _candidates(shape: tuple[int, int], d: int, spread: float, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """c and rho (B, C) = `shape` drawn from q, and which of the neuron's state and the candidates (B, 1 + C) are special.

    A candidate is drawn from the prior or, with probability 1/2, is special: c has variance `spread`, and rho is uniform up to
    LONGEST_REST sqrt(d). The neuron's present state comes first and counts as not special.
    """
    special = rng.random(shape) < 0.5
    c = rng.standard_normal(shape) * np.where(special, sqrt(spread), 1.0)
    rho = np.where(special, rng.uniform(0, LONGEST_REST * sqrt(d), shape), np.sqrt(rng.chisquare(d - 1, shape)))
    return torch.from_numpy(c), torch.from_numpy(rho), torch.from_numpy(np.pad(special, ((0, 0), (1, 0))))


def _log_ratio(c: Tensor, rho: Tensor, log_ratio_b: Tensor, d: int, spread: float) -> Tensor:
    """log of q over the prior, up to a constant. q is the mean of the prior and the special density."""
    longest = LONGEST_REST * sqrt(d)
    log_prior_c = -(c**2) / 2 - log(2 * pi) / 2
    log_prior_rho = (d - 2) * rho.log() - rho**2 / 2 - (d - 3) / 2 * log(2) - lgamma((d - 1) / 2)
    log_special = -(c**2) / (2 * spread) - log(2 * pi * spread) / 2 - log(longest)
    log_special = torch.where(rho <= longest, log_special, -torch.inf)
    return torch.logaddexp(torch.zeros_like(c), log_special - log_prior_c - log_prior_rho + log_ratio_b)


def _rotated(q: Tensor, p: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """(q, p) after the prior's own motion for this angle."""
    cos, sin = np.cos(angle), np.sin(angle)
    return cos * q + sin * p, cos * p - sin * q


def _half_square(x: Tensor) -> Tensor:
    return x.square().sum(1) / 2
