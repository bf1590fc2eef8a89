"""Theory for networks that learn templates: kernel regression in closed form, and a bound for perceptrons on one-hots [Boix23].

P          training strings
N          kernel between strings of templates that share no tokens; see templates.kernel
labels     those of the templates, which a string's tokens alone do not tell
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.study import theory
from sweepkit.strings.families import MAJORITY, Labelled, most_wildcards, named, trivial_mse
from sweepkit.strings.kernel import Kernel
from sweepkit.strings.ridge import idealised_mse


def _rows(holds: Callable[[Sequence[Labelled]], bool]) -> Callable[[pd.DataFrame], "pd.Series[Any]"]:
    """Rows whose templates the name tells alone, and of which this holds."""

    def of(frame: pd.DataFrame) -> "pd.Series[Any]":
        names = {str(name) for name in frame["template"].unique()} - {"random", MAJORITY}
        return frame["template"].isin([name for name in names if holds(named(name))])

    return of


def _are_few(templates: Sequence[Labelled]) -> bool:
    """True for templates whose kernel is computed while a page waits."""
    return len(templates) == 2 and most_wildcards(templates) <= 2


def _differ_in_wildcards(templates: Sequence[Labelled]) -> bool:
    """True if the regular tokens are the same ones at the same places, so that they tell nothing [Boix23 Theorem I.2]."""
    return len({tuple(t if isinstance(t, str) else "" for t in pattern) for pattern, _ in templates}) == 1


@lru_cache(maxsize=64)
def _kernel(template: str, beta: float, position: float, activation: str) -> tuple[Any, Any, Any]:
    """N, the kernel of a string of each template with itself, and the labels."""
    found = named(template)
    kernel = Kernel(tuple(pattern for pattern, _ in found), beta, position, activation)  # type: ignore[arg-type]
    return kernel.matrix, kernel.own, np.array([label for _, label in found])


@theory(
    "kernel, no token twice", source="[Boix23 Lemma 4.5] in closed form", metric="test_mse", where=_rows(_are_few),
    of={"task": "template", "network": ["kernel", "features"], "training": "ridge"},
)  # fmt: skip
def regression(template: str, P: int, beta: float, position: float, activation: str, ridge: float) -> float:
    """Test error of kernel regression on P strings that share no token."""
    matrix, own, labels = _kernel(template, beta, position, activation)
    return idealised_mse(matrix, own, P, labels, ridge)


ANY_DESCENT = {"training": ["sgd", "gd", "adam", "adamw", "signsgd"], "momentum": {}, "weight_decay": {}, "lr_schedule": {}}


@theory(
    "variance of the labels", source="[Boix23 Theorem I.2]", metric=("test_mse", "final_test_mse", "eval_test_mse"),
    where=_rows(_differ_in_wildcards), of={"task": "template", "network": "one_hot", "equalities": 0} | ANY_DESCENT,
)  # fmt: skip
def variance(template: str) -> float:
    """The least error of a network that cannot tell the templates apart."""
    return trivial_mse(named(template))
