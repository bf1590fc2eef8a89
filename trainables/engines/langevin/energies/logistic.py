"""The last layer under cross entropy. It is not Gaussian and cannot be integrated out, so it is sampled with the hidden weights.

y      labels (P,), +1 and -1
f      logit of y = +1, phi a, a = sqrt(v) b, b (B, M) ~ N(0, 1). Two softmax outputs f+ and f- with readouts of variance v' are
       the case f = f+ - f-, v = 2 v', because only their difference enters the loss
U      sum over the examples of log(1 + exp(-y f))/kappa; kappa is a temperature, and 1 is Bayesian inference with this likelihood
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from trainables.engines.langevin.energies.readout import Alternatives

NEWTON_STEPS = 10
"""Newton steps towards the likeliest b of a candidate. A step moves no logit by more than 1; trained networks have logits of a
few."""
EXACT = 40.0
"""From this h on, log(1 + exp(h)) equals h in float64."""


@dataclass(frozen=True)
class LogisticReadout:
    """The last layer under the cross entropy of one logit; implements Readout."""

    y: Tensor
    v: float
    kappa: float

    def to(self, dtype: torch.dtype) -> "LogisticReadout":
        return replace(self, y=self.y.to(dtype))

    def n_sampled(self, n_features: int) -> int:
        return n_features

    def spread(self, fan_in: int) -> float:
        """About the c^2 at which a logit of order 1 costs least: at given f = sqrt(v/d) c b, c^2/2 + b^2/2 is least at c^2 = b^2
        = f sqrt(d/v). At least d."""
        return max(float(fan_in), sqrt(fan_in / self.v))

    def energy(self, phi: Tensor, b: Tensor) -> Tensor:
        return softplus(-self.y * self._logits(phi, b), threshold=EXACT).sum(-1) / self.kappa

    def gradient(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """dU/df sqrt(v) b^T, (B, P, M), and sqrt(v) phi^T dU/df, (B, M)."""
        slope = torch.sigmoid(-self.y * self._logits(phi, b)) * self.y * (-sqrt(self.v) / self.kappa)
        return slope.unsqueeze(-1) * b.unsqueeze(-2), (slope.unsqueeze(-2) @ phi).squeeze(-2)

    def fit(self, phi: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return sqrt(self.v) * b, self._logits(phi, b)

    def loss(self, f: Tensor) -> Tensor:
        """Mean cross entropy, in nats."""
        return softplus(-self.y * f, threshold=EXACT).mean(dim=1)

    def alternatives(
        self, phi: Tensor, b: Tensor, own: Tensor, candidates: Tensor, special: Tensor, rng: np.random.Generator
    ) -> Alternatives:
        """Draws b of a special candidate from N(m, 1/h); m and h approximate mode and curvature of its posterior given the other
        neurons.

        m and h follow from the candidate's features and the other neurons alone, so the neuron's present state enters no density.
        """
        if own.shape[1] > 1:
            raise ValueError("a readout that is sampled has one number a neuron")
        now = b.gather(1, own)
        others = self._logits(phi, b.scatter(1, own, 0.0)).unsqueeze(-1)
        unit = sqrt(self.v) * candidates.squeeze(-1)
        mean, precision = self._mode(others, unit)
        noise = torch.from_numpy(rng.standard_normal((len(b), unit.shape[2] - 1)))
        drawn = torch.where(special[:, 1:], mean[:, 1:] + noise / precision[:, 1:].sqrt(), noise)
        own_b = torch.cat([now, drawn], dim=1)
        log_ratio = (precision.log() - precision * (own_b - mean) ** 2 + own_b**2) / 2
        margins = self.y.unsqueeze(-1) * (others + unit * own_b.unsqueeze(1))
        return Alternatives(softplus(-margins, threshold=EXACT).sum(1) / self.kappa, own_b, log_ratio)

    def _mode(self, others: Tensor, unit: Tensor) -> tuple[Tensor, Tensor]:
        """For b (B, C) in f = others + unit b: a point near the mode of its posterior, and the posterior's curvature there.

        Takes damped Newton steps from 0. The third derivative is at most max |unit| times the second [Bach 2010], so each step
        goes down.
        """
        y, steepest = self.y.unsqueeze(-1), torch.amax(unit.abs(), 1) if unit.shape[1] else unit.new_zeros(unit.shape[::2])
        b, curvature = torch.zeros_like(steepest), torch.ones_like(steepest)
        for _ in range(NEWTON_STEPS):
            wrong = torch.sigmoid(-y * (others + unit * b.unsqueeze(1)))
            slope = b - (y * wrong * unit).sum(1) / self.kappa
            curvature = 1 + (wrong * (1 - wrong) * unit.square()).sum(1) / self.kappa
            b = b - slope / (curvature + steepest * slope.abs())
        return b, curvature

    def _logits(self, phi: Tensor, b: Tensor) -> Tensor:
        return (phi @ (sqrt(self.v) * b).unsqueeze(-1)).squeeze(-1)
