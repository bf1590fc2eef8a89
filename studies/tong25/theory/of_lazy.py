"""Theory for networks that hardly move from their initial weights on same-different [Tong25 Theorem 2, App. F].

It gives their accuracy and AUC by the tangent kernel, of infinite width and of their own, and how far their activations move.

kappa   relative activation change per unit of gamma, about 17
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.overlays.theory import About, Theory
from analysis.theory.cache import is_kept, kept
from sweepkit.declarations.evaluations import EVEN

from . import kernel_flow
from .activation import relative_change
from .of_same_different import noiseless

LINEAR_GAMMA = 0.003
"""Largest gamma at which networks count as barely moved: gamma kappa, kappa about 17, is 0.05 there. At 0.01 networks move a
third less than in proportion (measured)."""

MOST_OF_A_WIDTH = 2**24
"""Largest L^2 m for which the theory of a finite width is computed: its largest points, such as L = 128 at width 1024, take a
minute or so each."""

DRAWS_OF_A_WIDTH = 4


def _linear(where: Callable[[pd.DataFrame], "pd.Series[Any]"]) -> About:
    """Noiseless networks whose kernel is the one computed here: that of normal initial weights of variance 1/m."""
    return noiseless(lambda frame: where(frame) & (frame["initial"].isna() | (frame["initial"] == "normal")))


def _lazy(frame: pd.DataFrame) -> "pd.Series[Any]":
    return (frame["gamma_label"] == "lazy") & (frame["prefactor"] == "sqrt_d")


def _small(frame: pd.DataFrame) -> "pd.Series[Any]":
    return frame["L"].astype(float) ** 2 * frame["width"].astype(float) <= MOST_OF_A_WIDTH


def _barely_moved(frame: pd.DataFrame) -> "pd.Series[Any]":
    """Whether each network's activations still move in proportion to gamma."""
    richness: pd.Series[Any] = frame["gamma"] / np.where(frame["prefactor"] == "none", np.sqrt(frame["d"].astype(float)), 1.0)
    return richness <= LINEAR_GAMMA


LAZY = _linear(_lazy)
LAZY_AND_SMALL = _linear(lambda frame: _lazy(frame) & _small(frame))
BARELY_MOVED = _linear(_barely_moved)


def _predicted(at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_symbols": int(at["L"]), "d": int(at["d"]), "steps": int(at["steps"]), "eval_every": int(at["eval_every"]),
        "eval_at": str(at["eval_at"]),
        "base_lr": float(at["base_lr"]),
        "test_size": int(at.get("final_test_size", at.get("test_size", kernel_flow.TESTED))),
    }  # fmt: skip


def _at_the_end(at: Mapping[str, Any]) -> dict[str, Any]:
    return {**at, "eval_every": at["steps"], "eval_at": EVEN}


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
    kappa = _flow(**_predicted(_at_the_end(at))).activation_slope
    return float(relative_change(at["gamma"], at["d"], at["prefactor"], kappa))


_TRAINED = ("L", "d", "steps", "eval_every", "eval_at", "base_lr")


class _Read(NamedTuple):
    """A measure, how it is read off a prediction, with its standard error, and the keys of the prediction.

    A score at the end is a mean over examples, whatever their number. A best of several scores, or a best threshold, is luckier
    for fewer examples."""

    measure: str
    words: str
    value: Callable[[kernel_flow.Prediction], Any]
    error: Callable[[kernel_flow.Prediction], Any]
    keys: tuple[str, ...]


_READ = (
    _Read(
        "best_test_acc", "best of the evaluations", lambda p: p.best_reported, lambda p: p.best_reported_error,
        (*_TRAINED, "test_size"),
    ),
    _Read("final_test_acc", "at the end", lambda p: p.last, lambda p: p.standard_error[-1], _TRAINED),
    _Read("final_test_auc", "AUC at the end", lambda p: p.auc[-1], lambda p: p.auc_error[-1], _TRAINED),
    _Read(
        "final_test_acc_best_threshold", "at the end and the best threshold", lambda p: p.best_threshold[-1],
        lambda p: p.best_threshold_error[-1], (*_TRAINED, "final_test_size"),
    ),
)  # fmt: skip


def _of_flow(
    name: str, source: str, about: About, arguments: Callable[[Mapping[str, Any]], dict[str, Any]], more: tuple[str, ...] = ()
) -> list[Theory]:
    """The theories of one kernel, one for each measure; `arguments` are those of `_flow`."""

    def one(read: _Read) -> Theory:
        return Theory(
            name, f"{source}, {read.words}", (*read.keys, *more), lambda at: float(read.value(_flow(**arguments(at)))), about,
            (read.measure,), smooth=False, error=lambda at: float(read.error(_flow(**arguments(at)))),
            is_kept=lambda at: _flow_is_kept(**arguments(at)), forget=_flow_known.clear,
        )  # fmt: skip

    return [one(read) for read in _READ]


THEORIES = (
    *_of_flow("lazy, its width", "tangent kernel of drawn networks of this width", LAZY_AND_SMALL, _drawn, ("width",)),
    *_of_flow("lazy, infinite width", "NTK gradient flow", LAZY, _predicted),
    Theory(
        "lazy, infinite width", "NTK flow, scaling of [Tong25 App. F]", ("gamma", "prefactor", "L", "d", "steps", "base_lr"),
        _kappa, BARELY_MOVED, ("activation_change",), smooth=False,
        is_kept=lambda at: _flow_is_kept(**_predicted(_at_the_end(at))), forget=_flow_known.clear,
    ),
)  # fmt: skip
