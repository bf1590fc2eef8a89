"""Figures of template tasks: how many strings networks need to tell relations on unseen symbols, and to copy one [Boix23]."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.charts.curves import Look, curves_chart
from analysis.data.keys import captioned
from analysis.data.measures import knows
from analysis.data.points import averaged, counted, described, one_setting, points
from analysis.data.selection import Selection, Value, points_sql
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.overlays import overlays
from declarations.key import Key
from declarations.keys import KEYS
from declarations.statistics import STATISTICS
from stats import FEW

OVER, SERIES = "P", "networks"
PLAIN: Mapping[str, Value] = {
    "network": "transformer", "identity_qk": False, "identity_vo": False, "attention_init": "gaussian", "read_from": "cls",
}  # fmt: skip
NETWORKS: Mapping[str, Mapping[str, Value]] = {
    "perceptron on one-hots": {"network": "one_hot", "equalities": False},
    "perceptron, with equalities": {"network": "one_hot", "equalities": True},
    "rnn": {"network": "rnn"},
    "lstm": {"network": "lstm"},
    "transformer": PLAIN,
    "transformer + b I": {**PLAIN, "identity_vo": True},
    "transformer + a I": {**PLAIN, "identity_qk": True},
    "transformer + a I, b I": {**PLAIN, "identity_qk": True, "identity_vo": True},
    "transformer, mimetic": {**PLAIN, "attention_init": "mimetic"},
    "kernel, infinite width": {"network": "kernel"},
}
"""The series of a figure: networks by their keys."""
TOLD = (
    "embedding", "heads", "width", "depth", "training", "base_lr", "batch", "steps", "identity_rate", "ridge", "beta", "position",
    "activation",
)  # fmt: skip
"""Keys that captions tell, if a network has them."""
PREFERRED: Mapping[str, Value] = {
    "steps": 1000,
    "base_lr": 1e-3,
    "batch": 1024,
    "embedding": 128,
    "heads": 16,
    "head_dim": 64,
    "ridge": 1e-4,
    "beta": 4.0,
}
DECLARED = {**KEYS, SERIES: Key(SERIES, "networks", "text", "network", in_streams=False)}
"""The columns of the frames of these figures."""


@dataclass(frozen=True)
class OverStrings:
    """Curves over P of one measure for all networks on one set of templates."""

    where: Mapping[str, Value]
    measure: str

    def draw(self, results: str, sweep: str | None) -> Drawn | Missing:
        """The figure from the store; Missing if no network has two P."""
        missing = Missing("no networks at two P")
        if not knows(results, self.measure, self.where):
            return missing
        parts, told, queries = [], [], []
        for name, keys in NETWORKS.items():
            selection = Selection(sweep).only({**self.where, **keys})
            found = points(results, selection, self.measure)
            if found.frame.empty or found.frame[OVER].nunique() < 2:
                continue
            setting = one_setting(found.frame, found.keys, (OVER,), PREFERRED, found.declared)
            parts.append(setting.frame.assign(**{SERIES: name}))
            rest = {key: setting.values[key] for key in TOLD if key in setting.values and key not in keys}
            told.append(f"{name}: {described(rest, captioned(rest, found.declared))}")
            measure = found.measure
            queries.append(f"-- {name}\n{points_sql(selection.only(setting.values), measure, [OVER], FEW)}")
        if not parts:
            return missing
        frame = pd.concat(parts, ignore_index=True)
        look = Look(OVER, SERIES, log_x=True, level=0.5, declared=DECLARED)
        theory = overlays.curves(frame, self.measure, OVER, [], wait=False)
        beside = overlays.beside(frame, self.measure, wait=False)
        chart = curves_chart(frame, measure, look, theory)
        table = overlays.joined(frame[[SERIES, OVER, *STATISTICS]], beside.values)
        caption = f"{averaged(frame)}, {counted(int(frame['n'].sum()), 'network')}; dashed: 0.5. {'; '.join(told)}."
        return Drawn(chart, table, caption, ";\n\n".join(queries), beside.missing)


TEMPLATE_FIGURES = [
    Figure(
        "Relations", "aba or abb on symbols never seen: error against training strings, by network", "[Boix23 Figs. 1c, 21, 24]",
        ("grids/templates_quick.yaml",), OverStrings({"task": "template", "template": "aba/abb"}, "test_mse").draw,
    ),
    Figure(
        "Equality", "aa or ab on symbols never seen: error against training strings, by network",
        "[Boix23 App. B], the question of [Tong25]", ("grids/templates_quick.yaml",),
        OverStrings({"task": "template", "template": "aa/ab"}, "test_mse").draw,
    ),
]  # fmt: skip
