"""Theory declared beside its formula: the decorator `theory`, as `from analysis.study import theory`."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from analysis.data.comparing import PARTS
from analysis.data.selection import fits
from analysis.overlays.theory import About, Theory
from analysis.theory.cache import is_kept, kept
from analysis.theory.estimate import Estimate
from sweepkit.console.errors import spelled
from sweepkit.console.words import listed, nearest, show
from sweepkit.studies import StudyError

F = TypeVar("F", bound=Callable[..., Any])
DECLARED = "theories"
"""The attribute of a function that holds the theories it declares."""
USUAL: Mapping[str, tuple[Any, ...]] = {"momentum": (0,), "weight_decay": (0,), "lr_schedule": ("constant",)}
"""Values of keys that are meant if nothing is said of these keys."""


@spelled
def theory(
    name: str,
    *,
    metric: str | Sequence[str],
    of: Mapping[str, Any],
    source: str = "derived here",
    where: Callable[[pd.DataFrame], Any] | None = None,
    slow: bool = False,
) -> Callable[[F], F]:
    """Declare a function as theory of a metric. Its arguments are the keys that the value depends on, by their names:

    ```python
    @theory("ridge regression", source="derived here", metric="test_mse", of={"network": "erf_kernel", "d": {"at_least": 3}})
    def error(degree: int, d: int, P: float, ridge: float) -> float:
        ...
    ```

    Charts, tables and claims (`theory: ridge regression`) then set it beside the networks that it applies to. The function stays
    as it is, to be called and tested.

    name: as legends say it. metric: one or several metrics that it is the value of.
    of: the networks it applies to: a value, a list or a range {at_least, at_most} for each key. A key that is not named may have
    any value, but momentum, weight decay and a schedule of the rate, without which networks are meant; `{}` stands for any value.
    where: a further condition, a function of a table with one row for each configuration, a column for each key.
    slow: whether a value takes a second or more: it is then computed once and kept on disk until the study's theory changes, and
    is drawn only at the points that are measured. What draws at random may return `Estimate(value, standard_error)`.
    """
    metrics = (metric,) if isinstance(metric, str) else tuple(metric)
    for what, value, kind in (("name", name, str), ("source", source, str), ("of", of, Mapping)):
        if not isinstance(value, kind):
            raise StudyError(
                f"theory {show(name)}: {what} = {show(value)}: must be {'a mapping' if kind is Mapping else 'a text'}"
            )
    named = {key: _list(of[key]) for key in PARTS if key in of}
    if wrong := [key for key, values in named.items() if not all(isinstance(value, str) for value in values)]:
        raise StudyError(f"theory {name!r}: of: {wrong[0]} = {show(of[wrong[0]])}: must be a name or a list of names")
    condition = _condition({key: value for key, value in of.items() if key not in PARTS}, where)
    task, network, training = (tuple(named.get(key, ())) for key in PARTS)

    def declare(function: F) -> F:
        keys = _keys(function)

        def holds(frame: pd.DataFrame) -> Any:
            there = [key for key in keys if key in frame and key != "loss"]
            return condition(frame) & frame[there].notna().all(axis=1)  # a network without one of them is another kind

        about = About(task, network, training, holds, {k: v for k, v in USUAL.items() if k not in of}, tuple(of))
        given = {key: parameter.annotation for key, parameter in inspect.signature(function).parameters.items()}

        def arguments(at: Mapping[str, Any]) -> dict[str, Any]:
            return {key: _plain(at[key], given[key]) for key in keys}

        def found(at: Mapping[str, Any]) -> Estimate:
            value = kept(function, **arguments(at)) if slow else function(**arguments(at))
            return value if isinstance(value, Estimate) else Estimate(float(value), 0.0)

        one = Theory(
            name, source, keys, lambda at: found(at).value, about, metrics, smooth=not slow,
            error=lambda at: found(at).standard_error,
            is_kept=(lambda at: is_kept(function, **arguments(at))) if slow else (lambda at: True),
        )  # fmt: skip
        setattr(function, DECLARED, (*getattr(function, DECLARED, ()), one))
        return function

    return declare


def theories_in(functions: Sequence[Any], metrics: Sequence[str] = (), keys: Collection[str] = ()) -> list[Theory]:
    """The theories that these functions were declared as; a function of some of these keys that was not is theory of these
    metrics, of all networks. StudyError for what is neither."""
    found: list[Theory] = []
    for function in functions:
        if not hasattr(function, DECLARED):
            if not metrics or not inspect.isroutine(function):
                said = "declare it by @theory(...), of `from analysis.study import theory`"
                raise StudyError(f"{show(function)} is no theory: {said}")
            if strange := [key for key in _keys(function) if key not in keys]:
                near = nearest(strange[-1], keys)
                raise StudyError(f"theory {function.__name__}: no network has a key {listed(strange)}{near}")
            name = "formula" if function.__name__ == "<lambda>" else function.__name__.replace("_", " ")
            function = theory(name, metric=metrics, of={key: {} for key in USUAL})(wraps(function)(partial(function)))
        found += getattr(function, DECLARED)
    return found


def _keys(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    if wrong := [one.name for one in parameters if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]:
        raise StudyError(f"theory {function.__name__}: {listed(wrong)}: each argument must be the name of a key, such as d or P")
    return tuple(one.name for one in parameters if one.default is one.empty)


def _plain(value: Any, annotation: Any) -> Any:
    """A value of a table as Python has it: int or float where the argument says so."""
    if annotation in (int, "int"):
        return int(value)
    if annotation in (float, "float"):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _condition(of: Mapping[str, Any], where: Callable[[pd.DataFrame], Any] | None) -> Callable[[pd.DataFrame], Any]:
    def holds(frame: pd.DataFrame) -> Any:
        found = pd.Series(True, frame.index)
        for key, value in of.items():
            if value == {}:
                continue
            is_left_out = frame[key].isna() & (None in _list(value) or key == "loss")  # results leave the task's own loss out
            found &= fits(frame[key], value) | is_left_out
        return found if where is None else found & where(frame)

    return holds
