"""Theory beside measured points: the values of the registry's theories for the points that they apply to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.overlays.registry import THEORIES
from analysis.overlays.theory import Theory
from analysis.theory.cache import code_of, theory_cache
from sweepkit.declarations.evaluations import EVEN
from sweepkit.studies import folders


class Later(NamedTuple):
    """A value of the theory that takes seconds to minutes; once it is computed it is kept on disk."""

    name: str
    """A name of the value: equal values have equal names."""
    compute: Callable[[], float]
    """Picklable, for a process of its own (`analysis.background`)."""


Compute = Callable[[list[Later]], bool]
"""A function that computes missing theory, or leaves it out. Whether any was computed, so that a chart is drawn again."""


class Beside(NamedTuple):
    """Theory beside some points. `values` has columns theory, point (the label of a point's row), value and error (the standard
    error of a value that is drawn at random). `missing` are values that are still to be computed."""

    values: pd.DataFrame
    missing: list[Later]


NOTHING = pd.DataFrame({"theory": pd.Series(dtype=str), "point": pd.Series(dtype=int), "value": pd.Series(dtype=float),
                        "error": pd.Series(dtype=float)})  # fmt: skip
"""`values` if no theory applies."""


_CHOSEN: ContextVar[Sequence[Theory] | None] = ContextVar("_CHOSEN", default=None)


@contextmanager
def using(theories: Sequence[Theory]) -> Iterator[None]:
    """Set these theories beside points, and no others, within the context."""
    token = _CHOSEN.set(theories)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def _theories() -> Iterable[Theory]:
    chosen = _CHOSEN.get()
    return THEORIES.values() if chosen is None else chosen


def joined(points: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """The points with a column for each theory that applies to some of them."""
    return points.join(values.pivot(index="point", columns="theory", values="value")) if len(values) else points


def beside(
    frame: pd.DataFrame, measure: str, wait: bool = True, cheap_only: bool = False, only: Iterable[str] | None = None
) -> Beside:
    """The theories' values for each point, of the theories named in `only` or of all.

    `wait=False` leaves out values that take long, and lists them as missing. `cheap_only` leaves out theories whose values may
    take long.
    """
    parts = [NOTHING]
    missing: list[Later] = []
    theories = [one for one in _theories() if (one.smooth or not cheap_only) and (only is None or one.name in only)]
    for theory, spoken_of in _applying(frame, measure, theories):
        for values, rows in _by_values(spoken_of, theory.keys):
            if not (wait or theory.is_kept(values) or theory.id not in THEORIES):  # no other process could compute it
                code = code_of(_folder(theory))
                missing.append(Later(f"{theory.id} {values} {code}", partial(_computed, code, theory.id, values)))
                continue
            said = {"theory": theory.name, "point": rows.index, "value": theory.of(values), "error": theory.error(values)}
            parts.append(pd.DataFrame(said))
    return Beside(pd.concat([part for part in parts if len(part)] or parts, ignore_index=True), missing)


def _folder(theory: Theory) -> Path | None:
    return folders()[theory.study] if theory.study else None


def _computed(code: str, name: str, values: Mapping[str, Any]) -> float:
    """The value of the theory with this id. RuntimeError if the asking process would not find it on disk: that process runs other
    code, or nothing can be written."""
    theory = THEORIES[name]
    if code != code_of(_folder(theory)):
        raise RuntimeError("the code of the theory has changed since this program started: start it again")
    value = theory.of(values)
    theory.forget()
    if not theory.is_kept(values):
        raise RuntimeError(f"it could not be kept in {theory_cache().location}")
    return value


def curves(frame: pd.DataFrame, measure: str, x: str, panels: Iterable[str], wait: bool = True) -> pd.DataFrame:
    """The theories' curves over the range of `x`: one for each value of `panels` and of the other keys that the theory depends
    on.

    Columns: theory, curve (a label), x, value, and those of `panels`.
    """
    panels = list(panels)
    parts = [pd.DataFrame(columns=["theory", "curve", x, "value", *(p for p in panels if p != x)])]
    for theory, spoken_of in _applying(frame, measure, _theories()):
        others = [key for key in theory.keys if key != x]
        for values, rows in _by_values(spoken_of, tuple(dict.fromkeys([*panels, *others]))):
            xs = _between(rows[x]) if theory.smooth and x in theory.keys else np.unique(rows[x].dropna())
            points = [{**values, x: xi} for xi in xs]
            known = [p for p in points if wait or theory.is_kept(p)]
            curve = " ".join([theory.name, *(f"{key}={values[key]}" for key in others)])
            parts.append(
                pd.DataFrame(
                    {
                        "theory": theory.name, "curve": curve, x: [p[x] for p in known], "value": [theory.of(p) for p in known],
                        **{panel: [values[panel]] * len(known) for panel in panels if panel != x},
                    }
                )
            )  # fmt: skip
    drawn = [part for part in parts if len(part)]
    return pd.concat(drawn, ignore_index=True) if drawn else parts[0]


def _applying(frame: pd.DataFrame, measure: str, theories: Iterable[Theory]) -> list[tuple[Theory, pd.DataFrame]]:
    found = []
    evaluated = frame["eval_at"].fillna(EVEN) if "eval_at" in frame else EVEN  # older rows do not name it
    frame = frame.assign(eval_at=evaluated)
    if "test_size" in frame:
        last = frame["final_test_size"] if "final_test_size" in frame else frame["test_size"]
        frame = frame.assign(final_test_size=last.fillna(frame["test_size"]))
    for theory in theories:
        if measure in theory.measures and {*theory.keys} <= {*frame.columns} and len(frame):
            spoken_of = frame[theory.about.speaks_of(frame)]
            if len(spoken_of):
                found.append((theory, spoken_of))
    return found


def _by_values(frame: pd.DataFrame, keys: tuple[str, ...]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    if not keys:
        return [({}, frame)]
    return [(dict(zip(keys, values, strict=True)), rows) for values, rows in frame.groupby(list(keys), dropna=False)]


def _between(values: "pd.Series[Any]") -> np.ndarray[Any, Any]:
    """The x at which a smooth curve is drawn: whole numbers for a key of whole numbers."""
    low, high = float(values.min()), float(values.max())
    xs = np.geomspace(low, high, 200) if low > 0 else np.linspace(low, high, 200)
    return np.unique(np.round(xs)) if pd.api.types.is_integer_dtype(values) else xs
