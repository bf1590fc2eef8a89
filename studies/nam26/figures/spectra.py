"""Figures of the eigenfunctions of a network's features that hold its target and its output: [Nam26 Fig. 1, 5, 9, 10]."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.data.keys import captioned
from analysis.data.measures import knows, measures
from analysis.data.points import described, in_order, means_of, one_setting, points, seeds
from analysis.data.selection import Selection, Value
from analysis.figures.drawn import Drawn, Figure, Missing
from sweepkit.console.words import counted

from ..charts import spectra, spectra_sql, spectrum_chart

_TRAINED = {"all": "all layers trained", "last": "the last layer trained"}
_TASKS = {"digits": "one output for each digit", "digits_value": "the digit as one number"}


@dataclass(frozen=True)
class SpectraFigure:
    """Networks that differ in one key and their seed: a column of panels for each value of the key."""

    by: str
    where: Mapping[str, Value | list[Value]]
    words: Callable[[Any], str]
    """The title of a value's column."""
    along: tuple[str, ...] = ()
    """Keys that may vary with it."""
    told: tuple[str, ...] = ("d_lr", "d_eff_util", "final_test_acc")
    """Measures whose means the caption names."""
    width: int = 300
    last: int | None = None
    """The last eigenfunction to show; None for all that are stored."""

    def draw(self, results: str, sweep: str | None) -> Drawn | Missing:
        missing = Missing("no such networks whose grid saves richness")
        if not knows(results, "d_lr", self.where):
            return missing
        selection = Selection(sweep).only(self.where)
        found = points(results, selection, "d_lr")
        if self.by not in found.keys:
            return missing
        setting = one_setting(found.frame, found.keys, (self.by, *self.along), None, found.declared)
        cells = seeds(results, selection.only(setting.values), "d_lr", [self.by])
        place = {value: i for i, value in enumerate(in_order(cells, self.by))}
        frame = spectra(results, cells["cell_id"]).merge(cells[["cell_id", self.by]], on="cell_id")
        if frame.empty:  # a grid may ask for d_lr alone
            return missing
        frame = frame.assign(column=frame[self.by].map(self.words), place=frame[self.by].map(place))
        frame = frame.sort_values(["place", "cell_id", "eigenfunction"], ignore_index=True)
        if self.last is not None:
            frame = frame[frame["eigenfunction"] <= self.last]
        told = described(setting.values, captioned(setting.values, found.declared))
        each = [f"{self.words(value)}: {self._means(results, cells[cells[self.by] == value])}" for value in place]
        drawn = "means with 95% intervals, up to the last eigenfunction that all have"
        caption = f"{told}; {counted(len(cells), 'network')}; {drawn}. {'; '.join(each)}."
        kept = [self.by, "seed", "cell_id", "eigenfunction", "rho", "quality", "utilisation"]
        return Drawn(spectrum_chart(frame, width=self.width), frame[kept], caption, spectra_sql(cells["cell_id"]))

    def _means(self, results: str, cells: pd.DataFrame) -> str:
        """The means of `told` over some networks, in words."""
        known = measures(results)
        found = means_of(results, tuple(cells["cell_id"]), tuple(name for name in self.told if name in known))
        return ", ".join(f"{name} {mean.value:.3g} ({mean.low:.3g} to {mean.high:.3g})" for name, mean in found.items())


SPECTRA = [
    Figure(
        "Codes", "Digits with a label code: what the output uses, and what the target needs", "[Nam26 Fig. 1]",
        ("richness_codes",),
        SpectraFigure("trained", {"task": "digits", "code": 1}, lambda value: _TRAINED[value]).draw,
    ),
    Figure(
        "Eigenfunctions", "Images of MNIST: target and output move to the leading eigenfunctions", "[Nam26 Fig. 5]",
        ("richness_spectra",),
        SpectraFigure("steps", {"task": "mnist5k"}, lambda value: f"{value} steps", ("eval_every",), width=190).draw,
    ),
    Figure(
        "Step", "A step on a line: the eigenfunctions that hold target and output", "[Nam26 Fig. 9]",
        ("richness_spectra",),
        SpectraFigure("steps", {"task": "step"}, lambda value: f"{value} steps", ("eval_every",), width=190, last=8).draw,
    ),
    Figure(
        "Outputs", "Digits as classes and as one number: how many eigenfunctions the output uses", "[Nam26 Fig. 10]",
        ("richness_codes",),
        SpectraFigure("task", {"task": ["digits", "digits_value"], "code": [0, None], "shuffle": [0, None]},
                      lambda value: _TASKS[value], ("alpha",)).draw,
    ),
]  # fmt: skip
