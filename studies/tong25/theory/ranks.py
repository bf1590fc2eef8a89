"""AUC and accuracy at the best threshold: an output beyond its sign.

f          outputs (t, n) of t networks, or of one at t times, on n examples
is_same    labels (n,)
"""

from typing import Any

import numpy as np
from scipy.stats import rankdata

Array = np.ndarray[Any, Any]


def auc(f: Array, is_same: Array) -> Array:
    """Probability (t,) that a same example has a greater output than a different one; ties count one half."""
    n_same = int(is_same.sum())
    greater = rankdata(f, axis=1)[:, is_same].sum(1) - n_same * (n_same + 1) / 2  # Mann and Whitney's U
    return np.asarray(greater / (n_same * (len(is_same) - n_same)))


def accuracy_at_best_threshold(f: Array, is_same: Array) -> Array:
    """Accuracy (t,) at the threshold that is best for these very examples, above which all are called same."""
    order = np.argsort(-f, axis=1, kind="stable")
    ordered = np.take_along_axis(f, order, axis=1)
    gains = np.where(is_same[order], 1, -1).cumsum(axis=1)
    # A threshold lies where outputs differ, or below all of them.
    gains[:, :-1][ordered[:, 1:] == ordered[:, :-1]] = 0
    return np.asarray(((~is_same).sum() + gains.max(axis=1).clip(min=0)) / len(is_same))
