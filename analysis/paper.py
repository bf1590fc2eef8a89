"""Settings of [Tong25], taken where networks of several are in the store; the accuracy at which a task counts as learned."""

from typing import Any

PAPER: dict[str, Any] = {
    "width": 1024, "steps": 25000, "batch": 128, "eval_every": 1000, "test_size": 1024, "base_lr": 0.1, "dtype": "float32",
    "prefactor": "sqrt_d",
}  # fmt: skip
"""Of same-different [Tong25 App. G]."""

LEVEL = 0.85
"""Midway between chance and the rich networks' end, and a little above, so that the largest lazy networks of grids/quick.yaml
reach it."""
