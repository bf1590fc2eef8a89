"""Chains that sample exp(-U(u)) N(u; 0, 1): Hamiltonian Monte Carlo, and jumps of single neurons between its trajectories.

HMC    the prior's part of the motion is a rotation of (u, p) and taken exactly, U alone kicks [Shahbaba et al. 2014]: where there
       are no data every step is accepted, and directions that the data leave alone are forgotten after a quarter turn
jump   specialisation is a first-order transition: a neuron stays long on either side of a barrier. So one neuron is drawn anew
       among where it is and candidates of a density q that does not depend on it, each with weight posterior/q, which leaves the
       posterior invariant [iterated sampling importance resampling: Andrieu, Lee and Vihola 2018]. The readout, integrated out,
       follows at once, so that it adds no barrier; where it is sampled, the neuron's own b is drawn with it. Drawn are the
       overlap c = e.u, e one of the K directions at random, and the length rho of the rest of u, whose direction it keeps: a
       neuron that specialises grows along e and shrinks across

The numbers of trajectory t come from the generator that belongs to t: where a run is cut changes none.
"""

from dataclasses import dataclass
from math import ceil, lgamma, log, pi, sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trainables.equilibrium.networks import Posterior
from trainables.equilibrium.setting import CANDIDATES

ACCEPTED = 0.8
"""Acceptance that the step adapts to: HMC's cost of an independent sample is flat from 0.6 to 0.9 [Betancourt et al. 2014]."""
LONGEST, LARGEST = pi / 2, pi / 2
"""Angle of a trajectory and of a step at most: a quarter turn makes the new u of the prior independent of the old."""
MOST_STEPS = 16
LONGEST_REST = 1.25
"""Of rho where neurons specialise, in units of sqrt(d), about its mean under the prior."""


class Step(NamedTuple):
    """The angle of a step, adapted in burn-in; then the mean of log angle over its second half, which no longer moves."""

    log_angle: float = log(0.2)
    sum_log: float = 0.0
    n: int = 0

    def adapted(self, accepted: float, t: int, burn_in: int) -> "Step":
        """After trajectory t = 1, 2, ... was accepted with this probability [Robbins and Monro 1951]."""
        if t > burn_in:
            return self
        moved = min(self.log_angle + (accepted - ACCEPTED) / sqrt(t), log(LARGEST))
        late = t > burn_in // 2
        sum_log, n = self.sum_log + moved * late, self.n + late
        return Step(sum_log / n if t == burn_in else moved, sum_log, n)


@dataclass(frozen=True)
class Sampler:
    """Moves chains; `forces` is the posterior in the precision of the gradients.

    Any kick that is a function of u alone keeps a trajectory reversible and its volume: forces that round cost acceptance only.
    """

    posterior: Posterior
    forces: Posterior

    def trajectory(self, u: Tensor, energy: Tensor, angle: float, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """One trajectory in steps of at most `angle`; u, U (B,) after it, and each chain's probability (B,) of acceptance."""
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

    def jump(self, u: Tensor, energy: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Draw overlap and length of one neuron of each chain anew, in the last hidden layer; u and U (B,) after it."""
        moved, chain = u.clone(), torch.arange(len(u))
        layer, directions = self.posterior.layers(moved)[-1]
        _, dim, n = layer.shape
        neuron = torch.from_numpy(rng.integers(0, n, len(u)))
        which = torch.from_numpy(rng.integers(0, directions.shape[1], len(u)))  # where there is one, this draws nothing
        e = directions[chain, which]
        spread = self.posterior.readout.spread(dim)
        now = layer[chain, :, neuron]
        c_now = (now * e).sum(1)
        rest = now - c_now.unsqueeze(1) * e
        rho_now = rest.norm(dim=1)
        c_new, rho_new, special = _candidates(len(u), dim, spread, rng)
        c, rho = torch.cat([c_now.unsqueeze(1), c_new], 1), torch.cat([rho_now.unsqueeze(1), rho_new], 1)
        candidates = e.unsqueeze(2) * c.unsqueeze(1) + (rest / rho_now.unsqueeze(1)).unsqueeze(2) * rho.unsqueeze(1)
        energies, b, log_ratio_b = self.posterior.alternatives(u, neuron, candidates, special, rng)
        log_weight = (-energies - _log_ratio(c, rho, log_ratio_b, dim, spread)).nan_to_num(nan=-torch.inf)
        kept = (log_weight + torch.from_numpy(rng.gumbel(size=c.shape))).argmax(1)  # in proportion to the weights
        layer[chain, :, neuron] = candidates[chain, :, kept]  # writes into `moved`
        if b.shape[1]:
            self.posterior.readouts(moved)[chain, neuron] = b[chain, kept]
        return moved, energy + energies[chain, kept] - energies[:, 0]


def _candidates(n_chains: int, d: int, spread: float, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """c and rho (B, CANDIDATES) from q: half from the prior, half special: c of variance `spread` and any rho up to the prior's.

    And which of these (B, 1 + CANDIDATES) are special; where the neuron is now counts as none.
    """
    shape = (n_chains, CANDIDATES)
    special = rng.random(shape) < 0.5
    c = rng.standard_normal(shape) * np.where(special, sqrt(spread), 1.0)
    rho = np.where(special, rng.uniform(0, LONGEST_REST * sqrt(d), shape), np.sqrt(rng.chisquare(d - 1, shape)))
    return torch.from_numpy(c), torch.from_numpy(rho), torch.from_numpy(np.pad(special, ((0, 0), (1, 0))))


def _log_ratio(c: Tensor, rho: Tensor, log_ratio_b: Tensor, d: int, spread: float) -> Tensor:
    """log of q over the prior, up to a constant: half of q is the prior."""
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
