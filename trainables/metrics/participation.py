"""How many directions the features of the last hidden layer use."""

import numpy as np

from trainables.metrics.base import FEATURES, Probe, metric
from trainables.richness import alignment


@metric("participation ratio of the features' covariance", low=1, logarithmic=True, at_equilibrium=True, needs=FEATURES)
def participation(probe: Probe) -> float | None:
    """(sum of lambda)^2 / sum of lambda^2 over the eigenvalues lambda of the covariance of the features on the probe set.

    1 if the features vary along one direction, m if they vary equally along all m; None for a network without features or with
    constant ones [Gao & Ganguli 2015].
    """
    n = len(probe.inputs)
    features = None if probe.features is None else alignment.centred(probe.features, np.full(n, 1 / n))
    return None if features is None else alignment.participation(features)
