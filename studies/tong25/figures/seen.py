"""Figures of example inputs and of hidden weights as images: 3a, 3d, 3g and A1."""

from functools import partial
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from analysis.charts.curves import styled
from analysis.charts.networks.neurons import structure_panel
from analysis.charts.networks.pictures import examples_chart, said_of, weights_chart
from analysis.data.keys import captioned
from analysis.data.networks.listing import network
from analysis.data.networks.pictures import Pictures, pictures_of
from analysis.data.networks.saved import of_other_gamma
from analysis.data.points import described
from analysis.data.selection import SEED, grid_keys
from analysis.data.source import ResultsError
from analysis.data.usual import settings
from analysis.figures.drawn import Drawn, Figure, Missing, command_of
from sweepkit.store.sql import literal
from sweepkit.store.views import declared, run

from .curves import PENTOMINO_QUICK, PSVRT_QUICK
from .structure import Chosen, scatter_of, with_neurons

HIDDEN_WEIGHTS, EXAMPLES = "figa1", "fig3a_3d"
CIFAR_EXAMPLES = "fig3h_g1 layer=id L=8 gamma=1 seed=0 steps=1000 save=curves,weights"
"""One short training on pixels, which need no features of VGG-16; its examples are those of the data."""
CIFAR_NEURONS = "fig3h_g1 layer=relu4_3 L=32 gamma=1,lazy seed=0 save=curves,neurons"
MOST_TRIED = 20
"""Most networks that are tried to find one with an undamaged file of weights."""


def _named(results: str, *without: str) -> list[str]:
    """Keys of the networks of a store in the order of captions, except those in `without`."""
    return captioned([key for key in (*grid_keys(results), SEED) if key not in without], declared(results))


def _networks(results: str, sweep: str | None, task: str, patches: int, gamma_label: str | None = None) -> list[Chosen]:
    """Networks of a task with saved weights: first those with this many patches a side, among these the widest and richest."""
    # Only stores with images have the column.
    near = f"patches IS NOT DISTINCT FROM {patches} DESC, " if "patches" in grid_keys(results) else ""
    joined = "" if sweep is None else " JOIN plans USING (cell_id)"
    limits = [f"task = {literal(task)}", *([f"gamma_label = {literal(gamma_label)}"] if gamma_label else [])]
    limits += [] if sweep is None else [f"sweep = {literal(sweep)}"]
    sql = f"""SELECT cell_id FROM cells JOIN internal.weights USING (cell_id){joined}
WHERE {" AND ".join(limits)}
ORDER BY {near}width DESC, gamma DESC, L DESC, steps DESC, seed, cell_id LIMIT"""
    found = run(results, lambda connection: connection.execute(f"{sql} {MOST_TRIED}").fetchall())
    return [Chosen(cell_id, f"{sql} 1" + (f" OFFSET {i}" if i else "")) for i, (cell_id,) in enumerate(found)]


class _Reader:
    """Reads pictures of networks, and keeps the errors of files that cannot be read."""

    def __init__(self, results: str) -> None:
        self._results, self._problems = results, dict[str, ResultsError]()

    def read(self, cell_id: str) -> Pictures | None:
        """The pictures of a network; None if they were not saved or cannot be read."""
        if cell_id in self._problems:
            return None
        try:
            return pictures_of(self._results, cell_id)
        except ResultsError as error:
            self._problems[cell_id] = error
            return None

    def said(self) -> str:
        """Words for the end of a caption: which files were left out."""
        return "".join(f"; left out: {problem}" for problem in self._problems.values())

    @property
    def problem(self) -> ResultsError | None:
        """The first error, which says why nothing is shown; None without errors."""
        return next(iter(self._problems.values()), None)


def _examples(results: str, sweep: str | None, task: str, patches: int) -> Drawn | Missing:
    reader = _Reader(results)
    for chosen in _networks(results, sweep, task, patches):
        pictures, cell = reader.read(chosen.cell_id), network(results, chosen.cell_id)
        if not cell or pictures is None or not len(pictures.examples):
            continue
        told = described(cell, _named(results, "task"))
        caption = f"The first examples of either label that one network was trained on: {told}"
        return Drawn(
            styled(examples_chart(pictures, ("same", "different"))),
            pictures.only("example"),
            f"{caption}{reader.said()}.",
            chosen.sql,
        )
    if reader.problem:
        raise reader.problem
    return Missing(f"no network of {task} whose weights, and examples with them, were saved (`save: [weights]`)")


class _Panels(NamedTuple):
    """A part of figure A1; `grid` is the grid to run if `drawn` is None."""

    title: str
    grid: str
    drawn: Drawn | None
    lost: ResultsError | None = None
    """The error that left it undrawn, if there are networks."""


def _weights(results: str, sweep: str | None, letters: tuple[str, str], title: str, task: str) -> _Panels:
    """Hidden weights of a rich network and of the lazy one that differs from it in gamma alone."""
    reader = _Reader(results)
    chosen = _rich_and_lazy(results, _networks(results, sweep, task, 2, "1"), reader)
    if chosen is None:
        return _Panels(title, HIDDEN_WEIGHTS, None, reader.problem)
    rich, of_regimes = chosen
    names = [f"{letter}  {title}, {regime}" for letter, regime in zip(letters, _REGIMES, strict=True)]
    found = {name: pictures for name, (_, pictures) in zip(names, of_regimes, strict=False)}
    cells = [network(results, cell_id) for cell_id, _ in of_regimes]
    frames = [pictures.only("weights").assign(panel=name[0]) for name, pictures in found.items()]
    accuracies = [f"{100 * cell['best_test_acc']:.0f}%" for cell in cells if cell]
    missing = "" if len(found) == 2 else "; no lazy one beside it"
    told = described(cells[0] or {}, _named(results, "task", "gamma", "gamma_label"))
    caption = (
        f"{title}: {told}, best test accuracy {' and '.join(accuracies)}{missing}; "
        f"{said_of(next(iter(found.values())))}{reader.said()}"
    )
    return _Panels(title, HIDDEN_WEIGHTS, Drawn(weights_chart(found), pd.concat(frames), caption, rich.sql))


_REGIMES = ("rich (gamma = 1)", "lazy (gamma ~ 0)")


def _rich_and_lazy(results: str, candidates: list[Chosen], reader: _Reader) -> tuple[Chosen, list[tuple[str, Pictures]]] | None:
    """The first rich network whose file is undamaged: its id and pictures, and those of its lazy counterpart, if it has one.

    If the counterpart's file is lost, the next rich network is tried. If every counterpart's file is lost, the first rich network
    stays alone.
    """
    alone = None
    for rich in candidates:
        pictures, cell = reader.read(rich.cell_id), network(results, rich.cell_id)
        if pictures is None or cell is None:
            continue
        rival = of_other_gamma(results, cell).get("lazy")
        beside = reader.read(rival) if rival else None
        if rival and beside is None:
            alone = alone or (rich, [(rich.cell_id, pictures)])
            continue
        return rich, [(rich.cell_id, pictures), *([(rival, beside)] if rival and beside else [])]
    return alone


def _scatters(results: str, sweep: str | None) -> _Panels:
    """Alignment of the halves of hidden weights against readouts on CIFAR-100, rich and lazy."""
    title, drawn = "CIFAR-100", []
    choose = partial(with_neurons, results, sweep, of="task = 'cifar100'", layer=settings("cifar100")["layer"])
    rich = choose(gamma_label="1")
    cell = rich and network(results, rich.cell_id)
    if rich and cell:  # the lazy network must differ in gamma alone
        beside = of_other_gamma(results, cell, "neurons").get("lazy")
        lazy = Chosen(beside, rich.sql) if beside else None
    else:
        lazy = choose(gamma_label="lazy")
    for letter, regime, chosen in (("e", "rich (gamma = 1)", rich), ("f", "lazy (gamma ~ 0)", lazy)):
        if chosen:
            found = scatter_of(results, chosen, partial(structure_panel, width=330, height=230))
            chart = found.chart.properties(title=f"{letter}  {title}, {regime}")
            drawn.append(Drawn(chart, found.frame.assign(panel=letter), f"{letter}: {found.caption}", found.sql))
    if not drawn:
        return _Panels(title, CIFAR_NEURONS, None)
    charts, frames = [one.chart for one in drawn], [one.frame for one in drawn]
    caption = " ".join(one.caption for one in drawn).rstrip(".")
    return _Panels(title, CIFAR_NEURONS, Drawn(alt.hconcat(*charts, spacing=60), pd.concat(frames), caption, drawn[0].sql))


def _a1(results: str, sweep: str | None) -> Drawn | Missing:
    parts = [
        _weights(results, sweep, ("a", "b"), "PSVRT", "psvrt"),
        _weights(results, sweep, ("c", "d"), "Pentomino", "pentomino"),
        _scatters(results, sweep),
    ]
    there = [part.drawn for part in parts if part.drawn]
    if not there:
        for part in parts:
            if part.lost:
                raise part.lost
        return Missing("no network of images whose weights were saved (`save: [weights]`)")
    charts: list[Any] = [part.drawn.chart if part.drawn else _to_run(part, results) for part in parts]
    chart = styled(alt.vconcat(*charts, spacing=30)).resolve_scale(color="independent")
    frame = pd.concat([drawn.frame for drawn in there], ignore_index=True)
    sql = ";\n\n".join(drawn.sql for drawn in there if drawn.sql)
    captions = [part.drawn.caption if part.drawn else f"{part.title}: {part.lost}" for part in parts if part.drawn or part.lost]
    return Drawn(chart, frame, ". ".join(captions) + ".", sql)


def _to_run(part: _Panels, results: str) -> alt.TopLevelMixin:
    """A panel that names the command for its data."""
    why = "the weights cannot be read" if part.lost else "no such networks yet"
    lines = [f"{part.title}: {why}. Run", command_of(part.grid, results)]
    text = alt.Chart(pd.DataFrame({"line": lines, "y": [12, 30]})).mark_text(align="left", fontSize=12, color="#555")
    x, y = alt.value(0), alt.Y("y:Q", scale=None, axis=None)
    return text.encode(x=x, y=y, text="line:N").properties(width=600, height=44, view={"stroke": None})


SEEN_FIGURES = [
    Figure("3a", "PSVRT: example inputs, same and different", "[Tong25 Fig. 3a]", (EXAMPLES, PSVRT_QUICK),
           lambda results, sweep: _examples(results, sweep, "psvrt", 3)),
    Figure("3d", "Pentomino: example inputs, same and different", "[Tong25 Fig. 3d]", (EXAMPLES, PENTOMINO_QUICK),
           lambda results, sweep: _examples(results, sweep, "pentomino", 3)),
    Figure("3g", "CIFAR-100: example inputs, same and different", "[Tong25 Fig. 3g]", (CIFAR_EXAMPLES,),
           lambda results, sweep: _examples(results, sweep, "cifar100", 3)),
    Figure("A1", "Hidden weights of visual tasks, rich beside lazy", "[Tong25 Fig. A1]",
           (HIDDEN_WEIGHTS, PSVRT_QUICK, PENTOMINO_QUICK, CIFAR_NEURONS), _a1),
]  # fmt: skip
