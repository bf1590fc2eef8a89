"""The figure of how and when one looks at lazy networks: L*(d) by the sign of the output at several schedules of evaluations, by
its best threshold, and by its rank. The paper looks at the sign every 1000 steps."""

import pandas as pd

from analysis.data.keys import captioned
from analysis.data.measures import MEASURES
from analysis.data.points import described, n_seeds, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.overlays.overlays import Later
from analysis.scaling.charts import threshold_chart
from analysis.scaling.levels import usual_level
from analysis.scaling.thresholds import exponents, fitted, threshold_table, thresholds
from sweepkit.declarations.evaluations import EVEN, per_decade
from sweepkit.stats import FEWEST_OF_LAW

from ..of_theory import as_lines, theory_thresholds
from ..paper import SAME_DIFFERENT
from .laws import AGAINST, NOISELESS, OVER, exponent_told, exponents_of_theory

WAY = "measured by"
_MEASURES = {"best_test_acc": "sign", "final_test_acc_best_threshold": "best threshold", "final_test_auc": "AUC"}


def _draw(results: str, sweep: str | None) -> Drawn | Missing:
    """L*(d) of lazy networks of one setting, for each way of looking at them that the store has at three d."""
    selection = Selection(sweep).only(NOISELESS | {"gamma_label": "lazy"})
    by_measure = {name: points(results, selection, name) for name in _MEASURES}
    parts = [_ways(found.frame, name) for name, found in by_measure.items() if len(found.frame)]
    if not parts:
        return Missing("no lazy networks")
    together = pd.concat(parts, ignore_index=True)
    first = next(iter(by_measure.values()))
    evaluated = [key for key in ("eval_every", "eval_at") if key in first.keys]
    axes = (OVER, AGAINST, WAY, *evaluated)
    setting = one_setting(together, [*first.keys, WAY], axes, SAME_DIFFERENT, first.declared)
    lines, tables, said, missing = [], [], [], list[Later]()
    for way, part in setting.frame.groupby(WAY):
        measure = by_measure[part["measure"].iloc[0]].measure
        frame = thresholds(part.drop(columns="measure"), usual_level(measure), OVER)
        if frame.empty or frame[AGAINST].nunique() < FEWEST_OF_LAW:
            continue
        theory, later = theory_thresholds(frame, measure, usual_level(measure), OVER, wait=False)
        [row] = exponents(fitted(frame, OVER, AGAINST, WAY), frame, WAY, AGAINST).to_dict("records")
        said.append(exponent_told(str(way), row) + exponents_of_theory(theory, WAY).get(way, ""))
        both = pd.concat([frame.assign(theory=""), theory], ignore_index=True)
        tables.append(threshold_table(both, [WAY, "theory", AGAINST]))
        lines.append(as_lines(theory, AGAINST, WAY))
        missing += later
    if not tables:
        return Missing(f"no way of looking has thresholds at {FEWEST_OF_LAW} d in one configuration")
    table = pd.concat(tables, ignore_index=True)
    table["seeds"] = table["seeds"].astype("Int64").mask(table["theory"] != "")  # a theory's draws are no seeds
    measured, curves = table[table["theory"] == ""], pd.concat(lines, ignore_index=True)
    chart = threshold_chart(measured, OVER, AGAINST, WAY, width=430, height=380, task="same_different", curves=curves)
    values = {key: value for key, value in setting.values.items() if key not in evaluated}
    told = described(values, captioned(values, first.declared))
    caption = (
        f"{told}; {n_seeds(setting.frame)} per point; intervals 95%. {OVER}*: where the mean of the measure reaches its level. "
        f"Exponents of {OVER}* in {AGAINST}: " + "; ".join(said)
    )
    return Drawn(chart, table, caption + ".", first.sql, missing)


def _ways(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The points with the name of the way in which they were looked at. A measure of the end is the same for all schedules: it is
    taken from networks that are evaluated as the paper's are."""
    at = frame["eval_at"].fillna(EVEN) if "eval_at" in frame else pd.Series(EVEN, frame.index)
    when = (
        frame["eval_every"]
        .map("every {:g} steps".format)
        .where(at == EVEN, at.map(lambda law: f"{per_decade(law)} times a decade"))
    )
    if measure != "best_test_acc":
        frame = frame[(at == EVEN) & (frame["eval_every"] == SAME_DIFFERENT["eval_every"])]
        when = pd.Series("at the end", frame.index)
    level = usual_level(MEASURES[measure])
    return frame.assign(**{WAY: f"{_MEASURES[measure]} {level:g}, " + when}).assign(measure=measure)


LOOK_FIGURES = [
    Figure("Looks", "Lazy networks: the symbols that suffice, L*(d), by how and when one looks", "docs/science/lazy-failure.md",
           ("lstar_measures",), _draw),
]  # fmt: skip
