"""Theory for networks that learn same-different: Eq. 3 in the rich limit, two Bayes classifiers of noisy symbols [Tong25].

gamma   richness; sigma2 variance of the noise; L training symbols; d input dimension
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.overlays.expected import Expected
from analysis.overlays.theory import ACCURACIES, About, Attained, Theory
from analysis.theory.cache import is_kept, kept

from . import bayes, rich

EQ3, GENERALISING, MEMORISING = "Eq. 3", "Bayes, generalising", "Bayes, memorising"
"""The names of these theories."""


def noiseless(where: Callable[[pd.DataFrame], Any]) -> About:
    """Two-layer networks on symbols without noise, limited to those for which `where` holds."""
    return About(("same_different",), where=lambda frame: (frame["sigma2"].fillna(0) == 0) & where(frame))


def is_rich(frame: pd.DataFrame) -> "pd.Series[bool]":
    """True for each row that is a rich network. Without the prefactor 1/sqrt(d) the richness of gamma = 1 falls with d
    [Tong25 App. F]."""
    return (frame["gamma"] >= 1) & (frame["prefactor"] == "sqrt_d")


RICH = noiseless(is_rich)
NOISY = About(("same_different",), where=lambda frame: frame["sigma2"].fillna(0) > 0)
AT_INITIAL_WEIGHTS = noiseless(lambda frame: frame["gamma_label"] == "lazy")


@lru_cache(maxsize=1000)
def _generalising(sigma2: float, d: int) -> float:
    return float(bayes.generalising_accuracy(sigma2, d))


def _memorising(at: Mapping[str, Any]) -> tuple[int, float, int]:
    return int(at["L"]), float(at["sigma2"]), int(at["d"])


THEORIES = (
    Theory(
        EQ3, "[Tong25 Eq. 3]", ("L",), lambda at: float(rich.test_accuracy(at["L"])), RICH, ACCURACIES,
        attained=Attained("rich networks", is_rich),
    ),
    Theory(
        GENERALISING, "[Tong25 App. E.1]", ("sigma2", "d"),
        lambda at: _generalising(float(at["sigma2"]), int(at["d"])), NOISY, ACCURACIES,
        attained=Attained("rich networks", is_rich),
    ),
    Theory(
        MEMORISING, "[Tong25 App. E.2], fresh symbols", ("L", "sigma2", "d"),
        lambda at: kept(bayes.memorising_accuracy, *_memorising(at)).value, NOISY, ACCURACIES, smooth=False,
        error=lambda at: kept(bayes.memorising_accuracy, *_memorising(at)).standard_error,
        is_kept=lambda at: is_kept(bayes.memorising_accuracy, *_memorising(at)),
    ),
)  # fmt: skip


def _of_initial_weights() -> dict[str, tuple[float, str]]:
    """By measure, the value for a lazy network, and its source."""
    source = "at initial weights: lazy weights hardly move"
    return {name: (value, source) for name, value in (("readout_ratio", 1.0), ("alignment_pos", 0.0), ("alignment_neg", 0.0))}


def _of_rich(n_symbols: int, readout_ratio: float | None) -> dict[str, tuple[float, str]]:
    """By measure, the value for a rich network of L symbols, and its source; `final_test_acc` only if its own readout ratio is
    known."""
    margin = "[Tong25 Theorem 1]"
    ratio = (1.0, "[Tong25 App. C.4]") if n_symbols == 2 else (rich.EQ3_RHO, "[Tong25 Eq. 3]")
    found = {"readout_ratio": ratio, "alignment_pos": (1.0, margin), "alignment_neg": (-1.0, margin),
             "best_test_acc": (float(rich.test_accuracy(n_symbols)), "[Tong25 Eq. 3]")}  # fmt: skip
    if n_symbols > 2 and readout_ratio is not None:
        by_ratio = float(rich.test_accuracy(n_symbols, readout_ratio))
        found["final_test_acc"] = (by_ratio, "[Tong25 Eq. C.18] at this network's readout ratio")
    return found


def expected(cell: Mapping[str, Any]) -> dict[str, Expected]:
    """The theory's values for a network, by measure; empty if no theory applies to it."""
    if AT_INITIAL_WEIGHTS.is_one(cell):
        found = _of_initial_weights()
    elif RICH.is_one(cell):
        ratio = cell.get("readout_ratio")
        found = _of_rich(int(cell["L"]), ratio if ratio is not None and np.isfinite(ratio) else None)
    else:
        found = {}
    return {measure: Expected(value, source) for measure, (value, source) in found.items()}
