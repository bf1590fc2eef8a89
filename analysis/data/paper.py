"""The settings of [Tong25], preferred if a store has networks of several, and the accuracy at which a task counts as learned."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.data.parts import parts_of
from sweepkit.declarations.evaluations import EVEN
from sweepkit.declarations.keys import FIRST_NETWORK, FIRST_SAMPLER, FIRST_TRAINING, LEFT_OUT

PAPER: dict[str, Any] = {
    "width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "eval_at": EVEN, "test_size": 1024, "base_lr": 0.1,
    "dtype": "float32", "prefactor": "sqrt_d", "initial": "normal", "network": FIRST_NETWORK,
    "training": FIRST_TRAINING, "loss": "cross_entropy",
}  # fmt: skip
"""The settings of same-different [Tong25 App. G]."""

_OTHERS: dict[str, dict[str, Any]] = {
    "psvrt": {"width": 512, "steps": 100000, "base_lr": 0.5, "prefactor": "none", "patches": 5, "patch_size": 5},
    "pentomino": {
        "width": 512, "steps": 100000, "base_lr": 0.5, "prefactor": "none", "patches": 2, "patch_size": 7, "blur": 0.5,
    },
    "cifar100": {"width": 1024, "steps": 50000, "base_lr": 0.01, "layer": "relu4_3"},
}  # fmt: skip
"""The settings in which the visual tasks differ from same-different [Tong25 App. G.3 to G.5]."""

ROUNDED = "the paper's lazy networks carry float32 rounding, these do not (docs/science/equality.md, The authors' network)"
"""Caution beside accuracies of lazy networks that are compared with the paper's; see benchmarks.float32."""

TASKS = ("same_different", *_OTHERS)
"""The tasks of the paper."""
TEMPLATE_TASKS = ("template", "symbolic_template")
"""The tasks on strings of templates [Boix23]."""
TWO_LABELS = TASKS
"""Tasks for which half of all answers are right by chance. For other tasks this share is not known here."""


def settings(task: str | None, at_equilibrium: bool = False) -> dict[str, Any]:
    """The paper's settings of a task: those of same-different if it has none for the task, and none for networks at equilibrium
    [Rubin25]."""
    return {} if at_equilibrium else PAPER | _OTHERS.get(task or "", {})


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one network. Keys of LEFT_OUT that its row lacks get the paper's values."""
    values = parts_of(values)
    usual = settings(values.get("task"), values["training"] == FIRST_SAMPLER)
    return values | {key: usual[key] for key in LEFT_OUT if key in usual and pd.isna(values.get(key))}


LEVEL = 0.85
"""The accuracy at which a task counts as learned: a little above midway between chance and the rich networks' end, and low enough
for the largest lazy networks of quick."""
