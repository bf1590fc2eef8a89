"""How many directions the features of the last hidden layer use."""

import numpy as np

from trainables.metrics.base import Probe, metric


@metric("participation ratio of the features' covariance", low=1, logarithmic=True)
def participation(probe: Probe) -> float | None:
    """(sum of lambda)^2 / sum of lambda^2 over the eigenvalues lambda of the covariance of the features on the probe set.

    1 if the features vary along one direction, m if they vary equally along all m; None for a network without features or with
    constant ones [Gao & Ganguli 2015].
    """
    if probe.features is None:
        return None
    centred = probe.features.astype(np.float64) - probe.features.mean(axis=0)
    covariance = centred.T @ centred
    squared = float(np.square(covariance).sum())
    return float(np.trace(covariance)) ** 2 / squared if squared else None
