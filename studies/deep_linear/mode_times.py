"""Times at which deep linear networks learn the modes of task `modes`, beside the theory of balanced or small weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.overlays.theory import BY_SQUARES, About
from sweepkit.declarations.metrics import MODES

from .theory import start, time_to

_WANTED = pd.Series({"activation": "linear", "parametrisation": "standard", "correlation": 0, "centred": 0, "bias": 0,
                     "trained": "all", "gamma": 1}, dtype=object)  # fmt: skip


def _wanted(frame: pd.DataFrame) -> "pd.Series[Any]":
    return (frame[_WANTED.index] == _WANTED).all(axis=1)


DEEP_LINEAR = About(("modes",), ("mlp",), ("gd",), _wanted, BY_SQUARES, tuple(map(str, _WANTED.index)))


def time_per_step(keys: Mapping[str, Any]) -> float:
    """The theory's t of one step, 2 x rate, as the loss is |y - f|^2 without 1/2."""
    return 2 * float(keys["base_lr"])


def strength(keys: Mapping[str, Any], mode: int) -> float:
    """s_k of mode k, counted from 1."""
    return float(keys["strength"]) / float(keys["ratio"]) ** (mode - 1)


def predicted(keys: Mapping[str, Any], metric: str, share: Any) -> "np.ndarray[Any, Any] | None":
    """The theory's t at which this share of a metric's mode is learnt; None for networks that it does not speak of, such as those
    that start with the whole mode."""
    return _time(keys, metric, share) if DEEP_LINEAR.is_one(keys) else None


def _time(keys: Mapping[str, Any], metric: str, share: Any) -> "np.ndarray[Any, Any] | None":
    """`predicted` for networks that DEEP_LINEAR speaks of."""
    mode = MODES.index(metric) + 1
    if keys["rank"] < mode:
        return None
    layers = int(keys["depth"]) + 1
    u_0 = start(str(keys["start"]), float(keys["init_scale"]), layers, int(keys["d"]), int(keys["width"]), mode)
    s = strength(keys, mode)
    return None if u_0 is None or u_0 >= s else time_to(share, s, u_0, layers)


def times_over_theory(frame: pd.DataFrame, metric: str, share: float) -> "pd.Series[float]":
    """t at which each network, a row with its keys and its step `crossed`, reached the share, over the theory's; NaN without."""

    def ratio(keys: Mapping[str, Any]) -> float:
        said = _time(keys, metric, share)
        return np.nan if said is None else time_per_step(keys) * float(keys["crossed"]) / float(said)

    here = frame[DEEP_LINEAR.speaks_of(frame)]
    found = pd.Series([ratio({str(key): value for key, value in row.items()}) for _, row in here.iterrows()], here.index, float)
    return found.reindex(frame.index)
