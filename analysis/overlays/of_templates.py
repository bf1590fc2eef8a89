"""Theory for networks that learn templates: kernel regression in closed form, and a bound for perceptrons on one-hots [Boix23].

P          training strings
N          kernel between strings of templates that share no tokens; see templates.kernel
labels     those of the templates, which a string's tokens alone do not tell
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.overlays.theory import About, Theory
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


def _regression(at: Mapping[str, Any]) -> float:
    matrix, own, labels = _kernel(str(at["template"]), float(at["beta"]), float(at["position"]), str(at["activation"]))
    return idealised_mse(matrix, own, int(at["P"]), labels, float(at["ridge"]))


KERNEL = About(("template",), ("kernel", "features"), ("ridge",), _rows(_are_few), {}, ("template",))
PERCEPTRON = About(
    ("template",), ("one_hot",), ("sgd", "gd", "adam", "adamw", "signsgd"),
    lambda frame: _rows(_differ_in_wildcards)(frame) & (frame["equalities"] == 0), {}, ("template", "equalities"),
)  # fmt: skip

THEORIES = (
    Theory(
        "kernel, no token twice", "[Boix23 Lemma 4.5] in closed form",
        ("template", "P", "beta", "position", "activation", "ridge"), _regression, KERNEL, ("test_mse",),
    ),
    Theory(
        "variance of the labels", "[Boix23 Theorem I.2]", ("template",), lambda at: trivial_mse(named(str(at["template"]))),
        PERCEPTRON, ("test_mse", "final_test_mse", "eval_test_mse"),
    ),
)  # fmt: skip
