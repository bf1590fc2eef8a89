"""Which theory speaks of which point of a measured curve, and what it says there."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analysis.theory import bayes, kernel_flow, rich
from analysis.theory.activation import relative_change
from analysis.theory.kept import CODE, is_kept, kept, theory_cache

ACCURACIES = ("best_test_acc", "final_test_acc")


class Theory(NamedTuple):
    """A curve of the theory, as a function of some grid keys, for the networks it is about."""

    name: str
    source: str
    keys: tuple[str, ...]
    """What its value depends on; where another key varies the curve stays."""
    of: Callable[[Mapping[str, Any]], float]
    """Its value where `keys` have these values."""
    about: Callable[[pd.DataFrame], pd.Series]
    """Of points: which it speaks of."""
    measures: tuple[str, ...]
    smooth: bool = True
    """Whether it is cheap enough to be drawn between the measured points too."""
    error: Callable[[Mapping[str, Any]], float] = lambda values: 0.0
    """Standard error of its value, where it is drawn at random."""
    is_kept: Callable[[Mapping[str, Any]], bool] = lambda values: True
    """Whether the value need not be computed any more; a page does not wait for those that must."""


class Later(NamedTuple):
    """A value of the theory that takes seconds to minutes; once computed it is kept on disk."""

    name: str
    """Equal for equal values."""
    compute: Callable[[], float]
    """Picklable, for a process of its own (`analysis.apart`)."""


class Beside(NamedTuple):
    """Theory beside some points. `values`: rows (theory, point, value, error), `point` being the label of a row of the points,
    `error` the standard error of a value that is drawn at random; `missing`: what would add more."""

    values: pd.DataFrame
    missing: list[Later]


NOTHING = pd.DataFrame({"theory": pd.Series(dtype=str), "point": pd.Series(dtype=int), "value": pd.Series(dtype=float),
                        "error": pd.Series(dtype=float)})  # fmt: skip
"""`values` where no theory speaks."""


def joined(points: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """The points with a column for each theory that speaks of one of them."""
    return points.join(values.pivot(index="point", columns="theory", values="value")) if len(values) else points


def beside(
    frame: pd.DataFrame, measure: str, wait: bool = True, cheap_only: bool = False, only: Iterable[str] | None = None
) -> Beside:
    """What the theories say of each point, those named in `only` or all. `wait=False` leaves out what would take long and lists
    it; `cheap_only` leaves out the theories of which that may be said at all."""
    parts = [NOTHING]
    missing: list[Later] = []
    for theory, spoken_of in _applying(frame, measure):
        if (cheap_only and not theory.smooth) or (only is not None and theory.name not in only):
            continue
        for values, rows in _by_values(spoken_of, theory.keys):
            if not (wait or theory.is_kept(values)):
                missing.append(Later(f"{theory.name} {theory.source} {values}", partial(_computed, CODE, theory.source, values)))
                continue
            said = {"theory": theory.name, "point": rows.index, "value": theory.of(values), "error": theory.error(values)}
            parts.append(pd.DataFrame(said))
    return Beside(pd.concat([part for part in parts if len(part)] or parts, ignore_index=True), missing)


def _computed(code: str, source: str, values: Mapping[str, Any]) -> float:
    """The value of the theory with this source. RuntimeError where the one who asks would not find it on disk: its code is
    another, or nothing can be written."""
    if code != CODE:
        raise RuntimeError("the code of analysis/theory has changed since this program started: start it again")
    theory = next(theory for theory in THEORIES if theory.source == source)
    value = theory.of(values)
    _flow_known.clear()  # so that the disk is asked
    if not theory.is_kept(values):
        raise RuntimeError(f"it could not be kept in {theory_cache().location}")
    return value


def curves(frame: pd.DataFrame, measure: str, x: str, panels: Iterable[str], wait: bool = True) -> pd.DataFrame:
    """The theories' curves over the range of `x`, a curve for each of `panels` and of the other keys that theory depends on.

    Columns: theory, curve (a label), x, value, and those of `panels`.
    """
    panels = list(panels)
    parts = [pd.DataFrame(columns=["theory", "curve", x, "value", *(p for p in panels if p != x)])]
    for theory, spoken_of in _applying(frame, measure):
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


def _applying(frame: pd.DataFrame, measure: str) -> list[tuple[Theory, pd.DataFrame]]:
    found = []
    told = ("gamma", "gamma_label", "sigma2", "prefactor")
    frame = frame.reindex(columns=[*frame.columns, *(key for key in told if key not in frame)])
    for theory in THEORIES:
        if measure in theory.measures and {"task", *theory.keys} <= {*frame.columns} and len(frame):
            spoken_of = frame[(frame["task"] == "same_different") & theory.about(frame)]
            if len(spoken_of):
                found.append((theory, spoken_of))
    return found


def _by_values(frame: pd.DataFrame, keys: tuple[str, ...]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    if not keys:
        return [({}, frame)]
    return [(dict(zip(keys, values, strict=True)), rows) for values, rows in frame.groupby(list(keys), dropna=False)]


def _between(values: "pd.Series[Any]") -> np.ndarray[Any, Any]:
    """Where to draw a smooth curve: whole numbers stay whole."""
    low, high = float(values.min()), float(values.max())
    xs = np.geomspace(low, high, 200) if low > 0 else np.linspace(low, high, 200)
    return np.unique(np.round(xs)) if pd.api.types.is_integer_dtype(values) else xs


def _noiseless(frame: pd.DataFrame) -> "pd.Series[Any]":
    return frame["sigma2"].fillna(0) == 0


def _rich(frame: pd.DataFrame) -> "pd.Series[Any]":
    # Without the prefactor 1/sqrt(d) the richness of gamma = 1 falls with d [Tong25 App. F].
    return _noiseless(frame) & (frame["gamma"] >= 1) & (frame["prefactor"] == "sqrt_d")


def _lazy(frame: pd.DataFrame) -> "pd.Series[Any]":
    return _noiseless(frame) & (frame["gamma_label"] == "lazy") & (frame["prefactor"] == "sqrt_d")


def _lazy_and_small(frame: pd.DataFrame) -> "pd.Series[Any]":
    return _lazy(frame) & (frame["L"].astype(float) ** 2 * frame["width"] <= MOST_OF_A_WIDTH)


def _barely_moved(frame: pd.DataFrame) -> "pd.Series[Any]":
    """Where activations still move in proportion to gamma."""
    richness: pd.Series[Any] = frame["gamma"] / np.where(frame["prefactor"] == "none", np.sqrt(frame["d"].astype(float)), 1.0)
    return _noiseless(frame) & (richness <= LINEAR_GAMMA)


def _noisy(frame: pd.DataFrame) -> "pd.Series[Any]":
    return frame["sigma2"].fillna(0) > 0


@lru_cache(maxsize=1000)
def _generalising(sigma2: float, d: int) -> float:
    return float(bayes.generalising_accuracy(sigma2, d))


def _memorising(at: Mapping[str, Any]) -> tuple[int, float, int]:
    return int(at["L"]), float(at["sigma2"]), int(at["d"])


def _predicted(at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_symbols": int(at["L"]), "d": int(at["d"]), "steps": int(at["steps"]), "eval_every": int(at["eval_every"]),
        "base_lr": float(at["base_lr"]), "test_size": int(at.get("test_size", kernel_flow.TESTED)),
    }  # fmt: skip


def _drawn(at: Mapping[str, Any]) -> dict[str, Any]:
    return {**_predicted(at), "width": int(at["width"]), "draws": DRAWS_OF_A_WIDTH}


@lru_cache(maxsize=1000)
def _flow(**at: Any) -> kernel_flow.Prediction:
    """Kept on disk as a whole: to put it together of its draws takes 60 ms, too long for each of many points of a page."""
    found: kernel_flow.Prediction = kept(kernel_flow.predict, **at)
    _flow_known.add(tuple(sorted(at.items())))
    return found


_flow_known: set[tuple[tuple[str, Any], ...]] = set()


def _flow_is_kept(**at: Any) -> bool:
    return tuple(sorted(at.items())) in _flow_known or is_kept(kernel_flow.predict, **at)


def _kappa(at: Mapping[str, Any]) -> float:
    """Relative activation change of a nearly lazy network."""
    kappa = _flow(**_predicted({**at, "eval_every": at["steps"]})).activation_slope
    return float(relative_change(at["gamma"], at["d"], at["prefactor"], kappa))


LINEAR_GAMMA = 0.003
"""Up to here gamma kappa, kappa about 17, stays below 0.05; at 0.01 networks move a third less than in proportion (measured)."""

MOST_OF_A_WIDTH = 2**24
"""L^2 m up to which the theory of a finite width is computed: a minute or so a point at the end, L = 128 at width 1024."""

DRAWS_OF_A_WIDTH = 4
_TRAINED = ("L", "d", "steps", "eval_every", "test_size", "base_lr")

THEORIES = [
    Theory("Eq. 3", "[Tong25 Eq. 3]", ("L",), lambda at: float(rich.test_accuracy(at["L"])), _rich, ACCURACIES),
    Theory(
        "Bayes, generalising", "[Tong25 App. E.1]", ("sigma2", "d"),
        lambda at: _generalising(float(at["sigma2"]), int(at["d"])), _noisy, ACCURACIES,
    ),
    Theory(
        "Bayes, memorising", "[Tong25 App. E.2], fresh symbols", ("L", "sigma2", "d"),
        lambda at: kept(bayes.memorising_accuracy, *_memorising(at)).value, _noisy, ACCURACIES, smooth=False,
        error=lambda at: kept(bayes.memorising_accuracy, *_memorising(at)).standard_error,
        is_kept=lambda at: is_kept(bayes.memorising_accuracy, *_memorising(at)),
    ),
    Theory(
        "lazy, its width", "tangent kernel of drawn networks of this width, best of the evaluations", (*_TRAINED, "width"),
        lambda at: _flow(**_drawn(at)).best_reported, _lazy_and_small, ("best_test_acc",), smooth=False,
        error=lambda at: _flow(**_drawn(at)).best_reported_error,
        is_kept=lambda at: _flow_is_kept(**_drawn(at)),
    ),
    Theory(
        "lazy, its width", "tangent kernel of drawn networks of this width, at the end", (*_TRAINED, "width"),
        lambda at: _flow(**_drawn(at)).last, _lazy_and_small, ("final_test_acc",), smooth=False,
        error=lambda at: float(_flow(**_drawn(at)).standard_error[-1]),
        is_kept=lambda at: _flow_is_kept(**_drawn(at)),
    ),
    Theory(
        "lazy, infinite width", "NTK gradient flow, best of the evaluations", _TRAINED,
        lambda at: _flow(**_predicted(at)).best_reported, _lazy, ("best_test_acc",), smooth=False,
        error=lambda at: _flow(**_predicted(at)).best_reported_error,
        is_kept=lambda at: _flow_is_kept(**_predicted(at)),
    ),
    Theory(
        "lazy, infinite width", "NTK gradient flow, at the end", _TRAINED,
        lambda at: _flow(**_predicted(at)).last, _lazy, ("final_test_acc",), smooth=False,
        error=lambda at: float(_flow(**_predicted(at)).standard_error[-1]),
        is_kept=lambda at: _flow_is_kept(**_predicted(at)),
    ),
    Theory(
        "lazy, infinite width", "NTK flow, scaling of [Tong25 App. F]", ("gamma", "prefactor", "L", "d", "steps", "base_lr"),
        _kappa, _barely_moved, ("activation_change",), smooth=False,
        is_kept=lambda at: _flow_is_kept(**_predicted({**at, "eval_every": at["steps"]})),
    ),
]  # fmt: skip
"""All that can be set beside a measured point of same-different."""
