"""A curve of the theory, and which networks it speaks of: a file of `analysis/theory` makes its own, `registry` lists them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.parts import with_parts
from declarations.keys import KEYS

TWO_LAYER = ("relu2",)
BY_SGD = ("sgd",)
PLAIN: Mapping[str, tuple[Any, ...]] = {"momentum": (0,), "weight_decay": (0,), "loss": ("cross_entropy",)}
"""Values of keys with which a training is the plain one that all theories speak of; so it is where a network lacks them."""
ACCURACIES = ("best_test_acc", "final_test_acc")

_NAMED = tuple(dict.fromkeys((*KEYS, *PLAIN)))


def _all(frame: pd.DataFrame) -> "pd.Series[Any]":
    return pd.Series(True, frame.index)


@dataclass(frozen=True)
class About:
    """Which networks a theory speaks of: their tasks, networks and trainings, PLAIN ones, and what else holds of their keys."""

    task: tuple[str, ...]
    network: tuple[str, ...] = TWO_LAYER
    training: tuple[str, ...] = BY_SGD
    where: Callable[[pd.DataFrame], "pd.Series[Any]"] = _all
    """What else holds of them, told of a frame with all declared keys; those that no network has are without values."""

    def speaks_of(self, frame: pd.DataFrame) -> "pd.Series[bool]":
        """Which rows of keys it speaks of. Rows without a network or a training are of the first that there were."""
        frame = with_parts(frame.reindex(columns=[*frame.columns, *(key for key in _NAMED if key not in frame)]))
        found = frame["task"].isin(self.task) & frame["network"].isin(self.network) & frame["training"].isin(self.training)
        for key, values in PLAIN.items():
            found &= frame[key].isna() | frame[key].isin(values)
        found[found] = self.where(frame[found]).fillna(False).astype(bool)
        return found

    def is_one(self, values: Mapping[str, Any]) -> bool:
        """Whether it speaks of the network of these keys."""
        keys = {name: values[name] for name in _NAMED if name in values}
        # A column of nothing but None has no type.
        row = {name: np.nan if value is None else value for name, value in keys.items()}
        return bool(self.speaks_of(pd.DataFrame([row])).iloc[0])


@dataclass(frozen=True)
class Theory:
    """A curve of the theory, as a function of some grid keys, for the networks it is about."""

    name: str
    source: str
    keys: tuple[str, ...]
    """What its value depends on; where another key varies the curve stays."""
    of: Callable[[Mapping[str, Any]], float]
    """Its value where `keys` have these values."""
    about: About
    measures: tuple[str, ...]
    smooth: bool = True
    """Whether it is cheap enough to be drawn between the measured points too."""
    error: Callable[[Mapping[str, Any]], float] = lambda values: 0.0
    """Standard error of its value, where it is drawn at random."""
    is_kept: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the value need not be computed any more; a page does not wait for those that must."""
    forget: Callable[[], None] = lambda: None
    """Lets go of what this process remembers of `is_kept`, so that the disk is asked."""
