"""A kind of measurement that a study brings: the decorator `kind`, as `from analysis.study import kind`."""

from collections.abc import Callable
from typing import Any, TypeVar

from analysis.claims.verdict import Measured, NotMeasured

F = TypeVar("F", bound=Callable[..., Measured | NotMeasured])


def kind(function: F) -> F:
    """Declare a function as a kind of measurement: claims name it by `measure: {kind: its name, ...}`, and the rest are its
    arguments after the first, the results directory.

    ```python
    @kind
    def share_above(results: str, measure: str, of: dict, level: float) -> Measured | NotMeasured:
        ...
    ```
    """
    function.is_kind = True  # type: ignore[attr-defined]
    return function


def is_kind(value: Any) -> bool:
    """True for a function that was declared as a kind."""
    return bool(getattr(value, "is_kind", False))
