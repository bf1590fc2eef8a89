"""The forms of an axis: a scalar, a list, or {range | linspace | geomspace | pow2 | log10: arguments}, alone or in a list."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.grid.keys import Legal
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item

SHOWN_PROBLEMS = 3
"""Number of wrong values of an axis that are reported; further ones are only counted."""


@dataclass(frozen=True)
class Axis:
    """The checked values of one key. `values` is empty if there are too many to list, or if some are wrong."""

    key: str
    count: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class _Form:
    """A sequence of numbers; its length is known before it is made."""

    count: int
    make: Callable[[], Iterable[float]]


_NO_VALUE = (None, "none", "None", "null", "default")
"""Words by which a grid may mean the default of a key."""


def parse_axis(key: Legal, item: Item, limit: int, report: Report, left_out: str = "") -> Axis:
    """The axis that the item describes. The values of an axis with more than `limit` are counted and not made. `left_out`: words
    about the key's default, for a grid that says `none` or `default`."""
    items = item.items
    if not items:
        report.at(item, f"{key.name} is an empty list; give at least one value, or leave the key out")
        return Axis(key.name, 1, ())
    parts: list[tuple[Item, _Form | None]] = []
    for part in items:
        form = None
        if isinstance(part.value, dict) and not key.takes_mapping:
            try:
                form = _form(part)
            except ValueError as error:
                report.at(part, f"{key.name}: {error}")
                continue
        elif isinstance(part.value, list):
            report.at(part, f"{key.name} holds a list inside its list; write one flat list of values")
            continue
        parts.append((part, form))
    count = sum(form.count if form else 1 for _, form in parts)
    if count > limit:
        return Axis(key.name, count, ())
    values: list[Any] = []
    wrong: list[tuple[Item, str]] = []
    for part, form in parts:
        try:
            values += _values(key, form) if form else [key.check(_plain(part))]
        except ValueError as error:
            wrong.append((part, f"{error}{left_out if part.value in _NO_VALUE else ''}"))
    for part, message in wrong[:SHOWN_PROBLEMS]:
        report.at(part, message)
    if len(wrong) > SHOWN_PROBLEMS:
        report.at(item, f"{key.name} has {len(wrong) - SHOWN_PROBLEMS} more wrong values")
    return Axis(key.name, max(count, 1), tuple(values) if not wrong and len(parts) == len(items) else ())


def _plain(item: Item) -> Any:
    """The item's value; that of a mapping with plain values, where `log(8)` on the command line is {log: [8]}."""
    if not isinstance(item.value, dict):
        return item.value
    return {name: inner.items[0].value if len(inner.items) == 1 else inner.value for name, inner in item.value.items()}


def _values(key: Legal, form: _Form) -> list[Any]:
    """The form's numbers, rounded to whole numbers or to 12 digits, whichever the key takes.

    With 12 digits 0.1 + 0.2 is 0.3, and all machines get the same numbers.
    """
    if not key.takes_numbers:
        raise ValueError(f"{key.name} takes no axis of numbers; it must be {key.legal}")
    try:
        numbers = list(form.make())
        if key.is_whole:
            return [key.check(round(x)) for x in numbers]
        return [key.check(float(f"{float(x):.12g}")) for x in numbers]
    except (OverflowError, ZeroDivisionError):  # round(inf), 2.0**5000
        raise ValueError(f"{key.name}: this axis runs beyond the largest number") from None


def _form(item: Item) -> _Form:
    """The form that a mapping such as {range: [2, 13]} names; ValueError says what is wrong with it."""
    if len(item.value) != 1:
        raise ValueError(f"an axis form is one of {_usages()}; this mapping has {len(item.value)} keys")
    [(name, argument)] = item.value.items()
    if name not in _FORMS:
        raise ValueError(f"unknown axis form {show(name)}{nearest(name, _FORMS) or ';'} legal forms: {_usages()}")
    usage, make = _FORMS[name]
    arguments = [a.value for a in argument.items]
    for a in arguments:
        if isinstance(a, bool) or not isinstance(a, int | float) or not math.isfinite(a):
            raise ValueError(f"{show(a)} is not a number that `{name}` can take; usage: {usage}")
    try:
        form = make([int(a) if isinstance(a, float) and a.is_integer() else a for a in arguments])
    except ValueError as error:
        raise ValueError(f"`{name}` {error}; usage: {usage}") from None
    if form.count < 1:
        raise ValueError(f"`{name}` of {listed(map(str, arguments))} is empty; usage: {usage}")
    return form


def _whole(arguments: list[Any], low: int, high: int) -> list[int]:
    if not low <= len(arguments) <= high:
        raise ValueError(f"takes {low} to {high} arguments, not {len(arguments)}" if low < high else f"takes {low} arguments")
    if not all(isinstance(a, int) for a in arguments):
        raise ValueError("takes whole numbers")
    return arguments


def _span(arguments: list[Any]) -> tuple[float, float, int]:
    """First, last and number of values of linspace, geomspace and log10."""
    if len(arguments) != 3:
        raise ValueError(f"takes 3 arguments, not {len(arguments)}")
    a, b, n = arguments
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"needs a whole number of values >= 1, not {show(n)}")
    return float(a), float(b), n


def _range(arguments: list[Any]) -> _Form:
    bounds = _whole(arguments, 1, 3)
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if step == 0:
        raise ValueError("has step 0")
    # len(range(...)) fails if the length does not fit an index; the message about too many cells needs the length in any case
    return _Form(max(0, -((start - stop) // step)), lambda: range(start, stop, step))


def _linspace(arguments: list[Any]) -> _Form:
    a, b, n = _span(arguments)
    # the last value is b exactly, without rounding
    return _Form(n, lambda: [a + (b - a) * i / (n - 1) if i < n - 1 else b for i in range(n)] if n > 1 else [a])


def _geomspace(arguments: list[Any]) -> _Form:
    a, b, n = _span(arguments)
    if a <= 0 or b <= 0:
        raise ValueError("needs both ends > 0")
    return _Form(n, lambda: [a * (b / a) ** (i / (n - 1)) if i < n - 1 else b for i in range(n)] if n > 1 else [a])


def _log10(arguments: list[Any]) -> _Form:
    exponents = _linspace(arguments)
    return _Form(exponents.count, lambda: [10.0**x for x in exponents.make()])


def _pow2(arguments: list[Any]) -> _Form:
    a, b = _whole(arguments, 2, 2)
    if max(abs(a), abs(b)) > 1000:
        raise ValueError("needs exponents between -1000 and 1000")
    return _Form(max(0, b - a + 1), lambda: [2**x for x in range(a, b + 1)])


_FORMS: dict[str, tuple[str, Callable[[list[Any]], _Form]]] = {
    "range": ("{range: n} or {range: [start, stop, step]}", _range),
    "linspace": ("{linspace: [first, last, count]}", _linspace),
    "geomspace": ("{geomspace: [first, last, count]}", _geomspace),
    "pow2": ("{pow2: [first exponent, last exponent]}", _pow2),
    "log10": ("{log10: [first exponent, last exponent, count]}", _log10),
}


def _usages() -> str:
    return listed(usage for usage, _ in _FORMS.values())
