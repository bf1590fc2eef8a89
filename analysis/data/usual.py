"""Settings that are preferred where a store has networks of several, and the accuracy at which a task counts as learned."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.data.parts import parts_of
from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies
from sweepkit.declarations.evaluations import EVEN
from sweepkit.declarations.keys import FIRST_NETWORK, FIRST_SAMPLER, FIRST_TRAINING, LEFT_OUT

USUAL: dict[str, Any] = {
    "width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "eval_at": EVEN, "test_size": 1024, "base_lr": 0.1,
    "dtype": "float32", "prefactor": "sqrt_d", "initial": "normal", "network": FIRST_NETWORK,
    "training": FIRST_TRAINING, "loss": "cross_entropy",
}  # fmt: skip
"""The settings of networks of which no study says any."""

OF_STUDIES = Gathered(lambda: {task: dict(values) for study in studies() for task, values in study.settings.items()})
"""By task, the settings that a study names."""
FIRST = Gathered(lambda: {task: dict(values) for study in studies() for task, values in study.first.items()})
"""By task, the keys of the network to look at first."""
LABELS = Gathered(lambda: {task: words for study in studies() for task, words in study.labels.items()})
"""By task of two labels, the words for them. Half of all answers are right by chance; for other tasks this share is not known."""


def settings(task: str | None, at_equilibrium: bool = False) -> dict[str, Any]:
    """The settings of a task: the usual ones if no study names any, and none for networks at equilibrium."""
    return {} if at_equilibrium else USUAL | OF_STUDIES.get(task or "", {})


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one network. Keys of LEFT_OUT that its row lacks get the usual values."""
    values = parts_of(values)
    usual = settings(values.get("task"), values["training"] == FIRST_SAMPLER)
    return values | {key: usual[key] for key in LEFT_OUT if key in usual and pd.isna(values.get(key))}


LEVEL = 0.85
"""The accuracy at which a task counts as learned: a little above midway between chance and the end of rich networks on
same-different, and low enough for the largest lazy networks of the grid `quick`."""
