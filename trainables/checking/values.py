"""Generators for checks, comparisons of values, and values in words."""

import numbers
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from trainables.streams import Key
from trainables.tasks.base import Array

SHOWN = 6
"""The largest number of different labels that a message lists."""


def fresh_generator(k: int = 0) -> np.random.Generator:
    """A new generator of the kind that training uses, with stream k."""
    return Key(np.array([k, 0], dtype=np.uint64)).generator()


@contextmanager
def reseeded(k: int) -> Iterator[None]:
    """Seed the global generators of Python, numpy and, if loaded, torch; restore them afterwards."""
    torch = sys.modules.get("torch")
    of_numpy, of_python = np.random.get_state(), random.getstate()
    of_torch = torch.get_rng_state() if torch else None
    np.random.seed(k)
    random.seed(k)
    if torch:
        torch.default_generator.manual_seed(k)
    try:
        yield
    finally:
        np.random.set_state(of_numpy)
        random.setstate(of_python)
        if torch and of_torch is not None:
            torch.set_rng_state(of_torch)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal bit for bit."""
    if isinstance(one, np.ndarray | np.generic) and isinstance(other, np.ndarray | np.generic):
        if one.dtype.kind == "O":
            return one.shape == other.shape and same(one.tolist(), other.tolist())
        return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return type(one) is type(other) and (not isinstance(one, str | bytes | numbers.Number | None) or one == other)


def as_words(values: Array) -> str:
    """`-1 and 1`, or the first few of many."""
    words = [f"{value:.6g}" for value in np.asarray(values, dtype=np.float64)[:SHOWN]]
    if len(values) > SHOWN:
        return f"{', '.join(words)}, ... ({len(values)} different ones)"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def not_finite(x: Any) -> str:
    """`NaN` if the array holds one, else `infinity`."""
    return "NaN" if np.isnan(x).any() else "infinity"


def shown(value: Any) -> str:
    """A value in a few words."""
    match value:
        case None:
            return "nothing (None)"
        case dict() if not value:
            return "an empty dict"
        case np.ndarray():
            return f"an array of shape {value.shape}"
        case np.generic() | bool() | int() | float():
            return f"{float(value):.6g}"
        case tuple() | list():
            return f"a {type(value).__name__} of {len(value)}"
        case _:
            text = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
            return text[:60]
