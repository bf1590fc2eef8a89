"""Theory for networks that hardly move from their initial weights on same-different [Tong25 Theorem 2, App. F].

It gives their accuracy by the tangent kernel, of infinite width and of their own, and how far their activations move.

kappa   relative activation change per unit of gamma, about 17
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.overlays.of_same_different import noiseless
from analysis.overlays.theory import Theory
from analysis.theory import kernel_flow
from analysis.theory.activation import relative_change
from analysis.theory.kept import is_kept, kept

LINEAR_GAMMA = 0.003
"""Largest gamma at which networks count as barely moved: gamma kappa, kappa about 17, is 0.05 there. At 0.01 networks move a
third less than in proportion (measured)."""

MOST_OF_A_WIDTH = 2**24
"""Largest L^2 m for which the theory of a finite width is computed: its largest points, such as L = 128 at width 1024, take a
minute or so each."""

DRAWS_OF_A_WIDTH = 4


def _lazy(frame: pd.DataFrame) -> "pd.Series[Any]":
    return (frame["gamma_label"] == "lazy") & (frame["prefactor"] == "sqrt_d")


def _small(frame: pd.DataFrame) -> "pd.Series[Any]":
    return frame["L"].astype(float) ** 2 * frame["width"].astype(float) <= MOST_OF_A_WIDTH


def _barely_moved(frame: pd.DataFrame) -> "pd.Series[Any]":
    """Whether each network's activations still move in proportion to gamma."""
    richness: pd.Series[Any] = frame["gamma"] / np.where(frame["prefactor"] == "none", np.sqrt(frame["d"].astype(float)), 1.0)
    return richness <= LINEAR_GAMMA


LAZY = noiseless(_lazy)
LAZY_AND_SMALL = noiseless(lambda frame: _lazy(frame) & _small(frame))
BARELY_MOVED = noiseless(_barely_moved)


def _predicted(at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_symbols": int(at["L"]), "d": int(at["d"]), "steps": int(at["steps"]), "eval_every": int(at["eval_every"]),
        "base_lr": float(at["base_lr"]), "test_size": int(at.get("test_size", kernel_flow.TESTED)),
    }  # fmt: skip


def _drawn(at: Mapping[str, Any]) -> dict[str, Any]:
    return {**_predicted(at), "width": int(at["width"]), "draws": DRAWS_OF_A_WIDTH}


@lru_cache(maxsize=1000)
def _flow(**at: Any) -> kernel_flow.Prediction:
    """The prediction, kept on disk as a whole: to put it together from its draws takes 60 ms, too long for the many points of a
    page."""
    found: kernel_flow.Prediction = kept(kernel_flow.predict, **at)
    _flow_known.add(tuple(sorted(at.items())))
    return found


_flow_known: set[tuple[tuple[str, Any], ...]] = set()


def _flow_is_kept(**at: Any) -> bool:
    return tuple(sorted(at.items())) in _flow_known or is_kept(kernel_flow.predict, **at)


def _kappa(at: Mapping[str, Any]) -> float:
    """Relative activation change of a nearly lazy network."""
    kappa = _flow(**_predicted({**at, "eval_every": at["steps"]})).activation_slope
    return float(relative_change(at["gamma"], at["d"], at["prefactor"], kappa))


_TRAINED = ("L", "d", "steps", "eval_every", "test_size", "base_lr")

THEORIES = (
    Theory(
        "lazy, its width", "tangent kernel of drawn networks of this width, best of the evaluations", (*_TRAINED, "width"),
        lambda at: _flow(**_drawn(at)).best_reported, LAZY_AND_SMALL, ("best_test_acc",), smooth=False,
        error=lambda at: _flow(**_drawn(at)).best_reported_error,
        is_kept=lambda at: _flow_is_kept(**_drawn(at)), forget=_flow_known.clear,
    ),
    Theory(
        "lazy, its width", "tangent kernel of drawn networks of this width, at the end", (*_TRAINED, "width"),
        lambda at: _flow(**_drawn(at)).last, LAZY_AND_SMALL, ("final_test_acc",), smooth=False,
        error=lambda at: float(_flow(**_drawn(at)).standard_error[-1]),
        is_kept=lambda at: _flow_is_kept(**_drawn(at)), forget=_flow_known.clear,
    ),
    Theory(
        "lazy, infinite width", "NTK gradient flow, best of the evaluations", _TRAINED,
        lambda at: _flow(**_predicted(at)).best_reported, LAZY, ("best_test_acc",), smooth=False,
        error=lambda at: _flow(**_predicted(at)).best_reported_error,
        is_kept=lambda at: _flow_is_kept(**_predicted(at)), forget=_flow_known.clear,
    ),
    Theory(
        "lazy, infinite width", "NTK gradient flow, at the end", _TRAINED,
        lambda at: _flow(**_predicted(at)).last, LAZY, ("final_test_acc",), smooth=False,
        error=lambda at: float(_flow(**_predicted(at)).standard_error[-1]),
        is_kept=lambda at: _flow_is_kept(**_predicted(at)), forget=_flow_known.clear,
    ),
    Theory(
        "lazy, infinite width", "NTK flow, scaling of [Tong25 App. F]", ("gamma", "prefactor", "L", "d", "steps", "base_lr"),
        _kappa, BARELY_MOVED, ("activation_change",), smooth=False,
        is_kept=lambda at: _flow_is_kept(**_predicted({**at, "eval_every": at["steps"]})), forget=_flow_known.clear,
    ),
)  # fmt: skip
