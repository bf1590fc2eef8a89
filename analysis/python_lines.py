"""Python lines that give in a notebook what a page shows: a call of `analysis.Results` with the same selection."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.charts.explore import Choices, networks_of, pinned
from analysis.data.choosing import suits_log
from analysis.data.points import Points, varying
from analysis.data.selection import Selection, Value
from analysis.figures.names import CURVE
from analysis.results import Results
from analysis.scaling.proportion import RATIO

WIDTH = 88
"""Longest line, in characters: a notebook's cell shows it whole."""


def plot_lines(results: str, selection: Selection, points: Points, choices: Choices, shown: pd.DataFrame) -> str:
    """The call of `Results.plot` that draws the chart of these choices; `shown` are the points in it."""
    return call_lines(results, "plot", plot_options(selection, points, choices, shown))


def plot_options(selection: Selection, points: Points, choices: Choices, shown: pd.DataFrame) -> dict[str, Any]:
    """The arguments of that call."""
    look = choices.look
    axes = [key for key in (look.x, look.colour, look.facet) if key]
    setting = networks_of(shown, pinned(points, shown, dict(choices.setting), axes))
    options: dict[str, Any] = {
        "x": look.x, "y": points.measure.name, "by": look.colour or "", "sweep": selection.sweep,
        "where": _where(selection, setting), "panels": look.facet, "centre": choices.centre, "theory": choices.theory,
        "residuals": look.residual, "intervals": choices.intervals, "seeds": choices.raw,
    }  # fmt: skip
    if look.log_x or suits_log(shown[look.x]):
        options["log_x"] = look.log_x
    if look.log_y != points.measure.logarithmic:
        options["log_y"] = look.log_y
    return options


def figure_entry(name: str, figure: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The figure of a list for `sweep figures` (`figures.listed`) that draws what a method of `Results` does with these options:
    `plot` is `curve`, `plot_threshold` is `threshold`."""
    axes = {"over": "x"} if figure != CURVE else {}
    said = {axes.get(key, key): _plain(key, value) for key, value in options.items()}
    usual = {"centre": "mean", "theory": True, "residuals": True, "intervals": True, "seeds": False}
    kept = {key: value for key, value in said.items() if value not in (None, {}) and usual.get(key) != value}
    return {"name": name, "figure": figure, **kept}


def _plain(key: str, value: Any) -> Any:
    """A value as YAML has it: `none` for no axis."""
    if key in ("by", "panels") and value == "":
        return "none"
    if isinstance(value, dict):
        return {_name(inner): [_bare(one) for one in _list(values)] for inner, values in value.items()}
    return _bare(_name(value))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _bare(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def threshold_lines(
    results: str,
    selection: Selection,
    points: Points,
    setting: Mapping[str, Value],
    over: str,
    level: float,
    by: Iterable[str],
    method: str = "threshold",
) -> str:
    """The call of `Results.threshold`, or with `method` "exponent" of `Results.exponent`, for the curves over `over` of one
    configuration. `by` names the keys that tell curves apart; the first is that of an exponent."""
    where = where_of(selection, points, setting)
    common = {"at": level, "y": points.measure.name, "sweep": selection.sweep, "where": where}
    keys = [_name(key) for key in by]
    if RATIO in setting:
        return call_lines(results, "threshold", {"x": over, "by": [*keys, "width"]} | common) + _at_ratio(setting)
    if method == "exponent":
        return call_lines(results, method, {"of": over, "over": keys[0], "by": keys[1] if keys[1:] else None} | common)
    return call_lines(results, method, {"x": over, "by": keys if len(keys) > 1 else keys[0]} | common)


def law_options(
    selection: Selection, points: Points, setting: Mapping[str, Value], over: str, level: float, by: Sequence[str]
) -> dict[str, Any]:
    """The arguments of the call of `Results.plot_threshold` for the same curves."""
    axes = {"of": over, "over": _name(by[0]), "by": _name(by[1]) if by[1:] else ""}
    where = where_of(selection, points, setting)
    return axes | {"at": level, "y": points.measure.name, "sweep": selection.sweep, "where": where}


def where_of(selection: Selection, points: Points, setting: Mapping[str, Value]) -> dict[str, Any]:
    """The argument `where` for the points of one setting of a selection."""
    vary = varying(points.frame, points.keys)
    return _where(selection, {key: value for key, value in setting.items() if key in vary and key != RATIO})


def rescaled_lines(
    results: str, selection: Selection, points: Points, setting: Mapping[str, Value], over: str, against: str, law: str | None
) -> str:
    """Lines that give the curves over `over` at each `against` of one configuration, with their abscissa in units of `law`, an
    expression such as `(points["d"] / 64) ** 2`; without a law, the curves as measured."""
    vary = varying(points.frame, points.keys)
    where = _where(selection, {key: value for key, value in setting.items() if key in vary and key not in (over, RATIO)})
    options = {"x": over, "y": points.measure.name, "by": against, "sweep": selection.sweep, "where": where}
    lines = call_lines(results, "points", options) + _at_ratio(setting)
    if law is None:
        return lines
    return f'{_IMPORT}points = {lines.removeprefix(_IMPORT)}\npoints["rescaled"] = points["{over}"] / {law}'


def _at_ratio(setting: Mapping[str, Value]) -> str:
    """The end of a line that keeps to networks of one width/d: `Results` knows no such parameter, and gives all widths."""
    return f'.query("width == {setting[RATIO]:g} * d")' if RATIO in setting else ""


def sql_lines(results: str, sql: str) -> str:
    """The call of `Results.sql` for a query."""
    return f'{_opened(results)}.sql("""\n{sql.strip()}\n""")' if "\n" in sql else call_lines(results, "sql", {"query": sql})


def call_lines(results: str, method: str, options: Mapping[str, Any]) -> str:
    """A call of a method of Results. Arguments at their defaults are left out."""
    known = inspect.signature(getattr(Results, method)).parameters
    said = {key: value for key, value in options.items() if known[key].default != value and value != {}}
    words = [f"{key}={_text(_name(value) if key in ('x', 'by', 'panels') else value)}" for key, value in said.items()]
    call = f"Results({_text(results)}).{method}"
    whole = f"{call}({', '.join(words)})"
    if len(whole) > WIDTH:
        whole = f"{call}(\n" + "".join(f"    {word},\n" for word in words) + ")"
    return f"{_IMPORT}{whole}"


_IMPORT = "from analysis import Results\n\n"


def together(*lines: str) -> str:
    """Several of these below one import."""
    return _IMPORT + "\n\n".join(one.removeprefix(_IMPORT) for one in lines)


def _opened(results: str) -> str:
    return f"{_IMPORT}Results({_text(results)})"


def _where(selection: Selection, setting: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: values[0] if len(values) == 1 else list(values) for key, values in selection.where}
    found |= {key: list(value) if isinstance(value, tuple) else value for key, value in setting.items()}
    return {_name(key): _number(value) if key == "gamma_label" else value for key, value in found.items()}


def _name(key: Any) -> Any:
    """`gamma` stands for its label, as in `Results`."""
    return "gamma" if isinstance(key, str) and key == "gamma_label" else key


def _number(label: Any) -> Any:
    """A label of gamma as one types it: a number, if the number gives the same label."""
    try:
        value = float(label)
    except (TypeError, ValueError):
        return label
    if f"{value:g}" != label:
        return label
    return int(value) if value.is_integer() else value


def _text(value: Any) -> str:
    """A value in Python, with double quotes."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_text(inner)}" for key, inner in value.items()) + "}"
    return repr(value.item() if hasattr(value, "item") else value)
