"""Theory for the kernel of wide lazy erf networks on Hermite polynomials: learning curves of ridge regression, and their bias.

The bias is the error of the outputs' mean over training sets. It is what the errors would be if what is not yet learnt did not
act as noise on what is.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.overlays.theory import About, Theory
from analysis.theory.ridge_curves import Errors, of_hermite


def _in_three_dimensions(frame: pd.DataFrame) -> "pd.Series[Any]":
    """True from three dimensions on: in fewer, inputs differ too much in length for the theory."""
    return frame["d"] >= 3


def _errors(at: Mapping[str, Any]) -> Errors:
    return of_hermite(int(at["degree"]), int(at["d"]), float(at["P"]), float(at["ridge"]))


_KEYS = ("degree", "d", "P", "ridge")
_KERNEL = About(("hermite",), ("erf_kernel",), ("ridge",), _in_three_dimensions, {}, _KEYS)
_SOURCE = "[Simon21, Canatar21, Bordelon20]"

THEORIES = (
    Theory("ridge regression", _SOURCE, _KEYS, lambda at: _errors(at).test, _KERNEL, ("test_mse",)),
    Theory("ridge regression", f"{_SOURCE}, training", _KEYS, lambda at: _errors(at).train, _KERNEL, ("final_train_loss",)),
    Theory("ridge regression, bias", f"{_SOURCE}, bias alone", _KEYS, lambda at: _errors(at).naive, _KERNEL, ("test_mse",)),
)
