"""Neural collapse: how far the features of one class lie apart, beside the distances of the classes [Papyan20, Nam26 Eq. 34]."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

REGULARISATION = 1e-4
"""lambda of [Nam26]: (S_b + lambda)^+ in place of S_b^+."""
_CUT = 1e-6
"""Directions of the class means below this share of the largest are rounding."""


class Collapse(NamedTuple):
    """The variability within C classes beside that between them."""

    nc1: float
    """Tr(S_W S_b^+)/C with both averaged over the classes [Papyan20]."""
    tr_sw: float
    """Tr(S_W), the sum over classes of their covariances [Nam26]."""
    nc1_regularised: float
    """Tr(S_W (S_b + lambda)^-1) with sums over classes, as [Nam26] computes: mostly Tr(S_W)/lambda."""


def classes_of(targets: Array) -> Array | None:
    """The class of each example (n,), from classes (n,) or from codes (n, C) of at most C kinds; None for other targets."""
    if targets.ndim == 1:
        return targets if np.issubdtype(targets.dtype, np.integer) else None
    kinds, found = np.unique(targets, axis=0, return_inverse=True)
    return found.reshape(-1) if len(kinds) <= targets.shape[1] else None


def collapse(features: Array, classes: Array, share: Array) -> Collapse | None:
    """The collapse of features (n, p) of examples of known classes; None if the means of the classes are equal."""
    features = features.astype(np.float64)
    kinds = np.unique(classes)
    means, within, total = np.empty((len(kinds), features.shape[1])), [], 0.0
    for k, kind in enumerate(kinds):
        of = classes == kind
        own = share[of] / share[of].sum()
        means[k] = own @ features[of]
        within.append(np.sqrt(own)[:, None] * (features[of] - means[k]))
        total += float(np.square(within[-1]).sum())
    apart = means - means.mean(0)  # S_b = apart' apart
    _, sizes, axes = np.linalg.svd(apart, full_matrices=False)
    if not sizes[0] > 0:
        return None
    kept = sizes > _CUT**0.5 * sizes[0]
    along = sum(np.square(rows @ axes[kept].T).sum(0) for rows in within)  # diagonal of S_W in the axes of S_b
    s_b = np.square(sizes[kept])
    regularised = (total - (along * s_b / (s_b + REGULARISATION)).sum()) / REGULARISATION
    return Collapse(float((along / s_b).sum()) / len(kinds), total, float(regularised))
