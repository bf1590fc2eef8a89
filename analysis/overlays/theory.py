"""A curve of the theory, and the networks it applies to. Studies make them; `registry` lists them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.data.parts import parts_alone
from sweepkit.declarations.keys import KEYS

TWO_LAYER = ("relu2",)
BY_SGD = ("sgd",)
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "momentum": (0,), "weight_decay": (0,), "lr_schedule": ("constant",), "per_step": ("batch",), "loss": ("cross_entropy",),
}  # fmt: skip
"""Values of keys that make a training plain, as does the lack of these keys. All theories are about plain trainings."""
BY_SQUARES = {**PLAIN, "loss": ("mse",)}
"""The values that PLAIN has of a training on the mean squared error."""
ACCURACIES = ("best_test_acc", "final_test_acc")
BEYOND_SIGN = ("final_test_acc_best_threshold", "final_test_auc")
"""Measures that see order where the sign of the output fails."""

_NAMED = tuple(dict.fromkeys((*KEYS, *PLAIN)))


def _all(frame: pd.DataFrame) -> "pd.Series[Any]":
    return pd.Series(True, frame.index)


@dataclass(frozen=True)
class About:
    """The networks that a theory applies to: tasks, networks, trainings (plain ones), and a further condition on their keys. An
    empty tuple stands for any."""

    task: tuple[str, ...]
    network: tuple[str, ...] = TWO_LAYER
    training: tuple[str, ...] = BY_SGD
    where: Callable[[pd.DataFrame], "pd.Series[Any]"] = _all
    """The further condition, for a frame with all declared keys; a key that no network has is an empty column."""
    plain: Mapping[str, tuple[Any, ...]] = field(default_factory=lambda: PLAIN)
    """The values of keys that the training may have."""
    keys: tuple[str, ...] = ()
    """Keys of one network or task alone that the condition asks for."""

    def speaks_of(self, frame: pd.DataFrame) -> "pd.Series[bool]":
        """Whether the theory applies to each row of keys. Rows without a network or a training have the first ones
        (`data.parts`)."""
        if "task" not in frame:
            return pd.Series(False, frame.index)
        parts, found = parts_alone(frame), pd.Series(True, frame.index)
        for part in ("task", "network", "training"):
            if names := getattr(self, part):
                found &= parts[part].isin(names)
        if found.any():
            lacking = [key for key in (*_NAMED, *self.keys) if key not in frame]
            some = frame[found].assign(**parts[found]).reindex(columns=[*frame.columns, *lacking])
            plain = pd.Series(True, some.index)
            for key, values in self.plain.items():
                plain &= some[key].isna() | some[key].isin(values)
            plain[plain] = self.where(some[plain]).fillna(False).astype(bool)
            found[found] = plain
        return found

    def is_one(self, values: Mapping[str, Any]) -> bool:
        """Whether the theory applies to the network with these keys."""
        keys = {name: values[name] for name in (*_NAMED, *self.keys) if name in values}
        # A column of None alone would have no type.
        row = {name: np.nan if value is None else value for name, value in keys.items()}
        return bool(self.speaks_of(pd.DataFrame([row])).iloc[0])


class Attained(NamedTuple):
    """The networks that are expected to attain a theory, not merely to be beside it: the table that ends a sweep sets them so."""

    networks: str
    """In words, such as `rich networks`."""
    where: Callable[[pd.DataFrame], "pd.Series[bool]"]
    """True for each of those that the theory is about and that are meant, by their keys."""


@dataclass(frozen=True)
class Theory:
    """A curve of the theory, as a function of some grid keys, for the networks that it applies to."""

    name: str
    source: str
    keys: tuple[str, ...]
    """The keys that its value depends on; when another key varies, the curve stays the same."""
    of: Callable[[Mapping[str, Any]], float]
    """Its value at these values of `keys`."""
    about: About
    measures: tuple[str, ...]
    smooth: bool = True
    """Whether it is cheap enough to be drawn between the measured points too."""
    error: Callable[[Mapping[str, Any]], float] = lambda values: 0.0
    """Standard error of its value, if the value is drawn at random."""
    is_kept: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the value is already computed; a page does not wait for other values."""
    forget: Callable[[], None] = lambda: None
    """Forgets what this process remembers of `is_kept`, so that the next question asks the disk."""
    attained: Attained | None = None
    """The networks that should attain it, if any; it is then of accuracies."""
    study: str = ""
    """The study that brings it."""

    @property
    def id(self) -> str:
        """Names it among all, in any process."""
        return f"{self.study}/{self.name}/{self.source}/{self.measures[0]}"
