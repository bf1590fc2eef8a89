"""The network and the training of stored rows. Rows of older versions lack these columns; they have the network and the training
that existed first."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.data.keys import value_of
from sweepkit.declarations.keys import FIRST_NETWORK, FIRST_SAMPLER, FIRST_TRAINING, LOSSES

_OF_SAMPLERS = ("kappa", "chains")
"""Keys that only networks drawn from a posterior have."""
_OF_SETS = ("P", "fraction")
"""Keys of tasks with a fixed training set: its size, or its share of all examples."""


def with_parts(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with `network` and `training`, filled in where a row lacks them."""
    network, training = _column(frame, "network"), _column(frame, "training")
    return frame.assign(
        network=network.where(network.notna(), FIRST_NETWORK), training=training.where(training.notna(), _implied(frame))
    )


def with_losses(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with `loss` by name, if it varies, where rows leave out the default of their task: a task whose rows name one loss
    has the other as its default. Without a `task`, all rows are of one."""
    if "loss" not in frame or not frame["loss"].notna().any():
        return frame
    loss = _column(frame, "loss")
    tasks = frame["task"] if "task" in frame else pd.Series("", frame.index)
    for _, of_task in loss.groupby(tasks, dropna=False):
        unnamed = [name for name in LOSSES if name not in set(of_task.dropna())]
        if len(unnamed) == 1:
            loss = loss.mask(loss.isna() & loss.index.isin(of_task.index), unnamed[0])
    return frame.assign(loss=loss.where(loss.notna(), value_of("loss", None)))


def parts_alone(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns `task`, where there is one, `network` and `training` of `with_parts`, without a copy of all others."""
    return with_parts(frame[[name for name in ("task", "network", "training", *_OF_SAMPLERS) if name in frame]])


def _implied(frame: pd.DataFrame) -> "pd.Series[Any]":
    sampled = pd.Series(False, frame.index)
    for key in _OF_SAMPLERS:
        sampled |= _column(frame, key).notna()
    return pd.Series(FIRST_TRAINING, frame.index, dtype=object).mask(sampled, FIRST_SAMPLER)


def _column(frame: pd.DataFrame, name: str) -> "pd.Series[Any]":
    return frame[name].astype(object) if name in frame else pd.Series(None, frame.index, dtype=object)


def parts_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one network with `network` and `training`, filled in where it lacks them."""
    network, training = values.get("network"), values.get("training")
    implied = FIRST_SAMPLER if any(not pd.isna(values.get(key)) for key in _OF_SAMPLERS) else FIRST_TRAINING
    return {
        **values,
        "network": FIRST_NETWORK if pd.isna(network) else network,
        "training": implied if pd.isna(training) else training,
    }


def at_equilibrium(values: Mapping[str, Any]) -> bool:
    """Whether the network of these keys is drawn from its posterior rather than trained."""
    return bool(parts_of(values)["training"] == FIRST_SAMPLER)


def has_training_set(values: Mapping[str, Any]) -> bool:
    """True if the network of these keys sees a fixed training set rather than fresh examples at each step."""
    return at_equilibrium(values) or any(not pd.isna(values.get(key)) for key in _OF_SETS)


def keeps_neurons(values: Mapping[str, Any]) -> bool:
    """Whether a grid may `save:` neurons of the network of these keys; where it is trained, its weights too."""
    return bool(parts_of(values)["network"] == FIRST_NETWORK) or at_equilibrium(values)


def have_training_sets(frame: pd.DataFrame) -> bool:
    """True if the frame holds networks and all of them see a fixed training set."""
    fixed = with_parts(frame)["training"] == FIRST_SAMPLER
    for key in _OF_SETS:
        fixed |= _column(frame, key).notna()
    return len(frame) > 0 and bool(fixed.all())


def are_at_equilibrium(frame: pd.DataFrame) -> bool:
    """Whether there are networks in the frame, and all of them are at equilibrium."""
    return len(frame) > 0 and bool((with_parts(frame)["training"] == FIRST_SAMPLER).all())
