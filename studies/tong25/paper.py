"""The settings of [Tong25]. Networks of same-different have the usual ones, `analysis.data.usual`."""

from collections.abc import Mapping
from typing import Any

SAME_DIFFERENT: dict[str, Any] = {
    "width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "eval_at": "even", "test_size": 1024, "base_lr": 0.1,
    "dtype": "float32", "prefactor": "sqrt_d", "initial": "normal", "network": "relu2", "training": "sgd",
    "loss": "cross_entropy",
}  # fmt: skip
"""App. G."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "same_different": SAME_DIFFERENT,
    "psvrt": {"width": 512, "steps": 100000, "base_lr": 0.5, "prefactor": "none", "patches": 5, "patch_size": 5},
    "pentomino": {
        "width": 512, "steps": 100000, "base_lr": 0.5, "prefactor": "none", "patches": 2, "patch_size": 7, "blur": 0.5,
    },
    "cifar100": {"width": 1024, "steps": 50000, "base_lr": 0.01, "layer": "relu4_3"},
}  # fmt: skip
"""By task; those of the visual tasks, App. G.3 to G.5, are what differs from same-different."""

ROUNDED = "the paper's lazy networks carry float32 rounding, these do not (docs/science/equality.md, The authors' network)"
"""Caution beside accuracies of lazy networks that are compared with the paper's; see benchmarks.float32."""
