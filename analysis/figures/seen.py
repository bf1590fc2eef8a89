"""Figures of what networks see and of their hidden weights as images: 3a, 3d, 3g and A1."""

from functools import partial
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from analysis.charts import styled
from analysis.figures.curves import PENTOMINO_QUICK, PSVRT_QUICK
from analysis.figures.drawn import Drawn, Figure, Missing, command_of
from analysis.figures.structure import Chosen, scatter_of, structure_panel, with_neurons
from analysis.one_network import network
from analysis.paper import settings
from analysis.picture_charts import examples_chart, said_of, weights_chart
from analysis.pictures import of_other_gamma, pictures_of
from analysis.points import described
from analysis.selection import grid_keys, literal
from store.views import run

HIDDEN_WEIGHTS, EXAMPLES = "grids/figa1.yaml", "grids/fig3a_3d.yaml"
CIFAR_EXAMPLES = "grids/fig3h_g1.yaml layer=id L=8 gamma=1 seed=0 steps=1000 save=curves,weights"
"""One short training on pixels, which need no features of VGG-16: its examples are the data's."""
CIFAR_NEURONS = "grids/fig3h_g1.yaml layer=relu4_3 L=32 gamma=1,lazy seed=0 save=curves,neurons"
_NAMED = ("L", "patches", "patch_size", "layer", "width", "steps", "seed")


def _network(results: str, sweep: str | None, task: str, patches: int, gamma_label: str | None = None) -> Chosen | None:
    """One network of a task with saved weights: of this many patches a side where there is one; then the widest and richest."""
    # Only stores with images have the column.
    near = f"patches IS NOT DISTINCT FROM {patches} DESC, " if "patches" in grid_keys(results) else ""
    joined = "" if sweep is None else " JOIN plans USING (cell_id)"
    limits = [f"task = {literal(task)}", *([f"gamma_label = {literal(gamma_label)}"] if gamma_label else [])]
    limits += [] if sweep is None else [f"sweep = {literal(sweep)}"]
    sql = f"""SELECT cell_id FROM cells JOIN internal.weights USING (cell_id){joined}
WHERE {" AND ".join(limits)}
ORDER BY {near}width DESC, gamma DESC, L DESC, steps DESC, seed, cell_id LIMIT 1"""
    found = run(results, lambda connection: connection.execute(sql).fetchone())
    return None if found is None else Chosen(found[0], sql)


def _examples(results: str, sweep: str | None, task: str, patches: int) -> Drawn | Missing:
    chosen = _network(results, sweep, task, patches)
    cell = chosen and network(results, chosen.cell_id)
    pictures = chosen and pictures_of(results, chosen.cell_id)
    if not chosen or not cell or not pictures or not len(pictures.examples):
        return Missing(f"no network of {task} whose weights, and examples with them, were saved (`save: [weights]`)")
    caption = f"The first examples of either label that one network was trained on: {described(cell, _NAMED)}."
    return Drawn(styled(examples_chart(pictures)), pictures.only("example"), caption, chosen.sql)


class _Panels(NamedTuple):
    """A part of figure A1; `grid` is what to run where `drawn` is None."""

    title: str
    grid: str
    drawn: Drawn | None


def _weights(results: str, sweep: str | None, letters: tuple[str, str], title: str, task: str) -> _Panels:
    """Hidden weights of a rich network and of the lazy one that differs from it in gamma alone."""
    rich = _network(results, sweep, task, 2, "1")
    cell = rich and network(results, rich.cell_id)
    if not rich or not cell:
        return _Panels(title, HIDDEN_WEIGHTS, None)
    lazy = of_other_gamma(results, cell).get("lazy")
    found = {
        f"{letter}  {title}, {regime}": pictures
        for letter, regime, cell_id in zip(letters, ("rich (gamma = 1)", "lazy (gamma ~ 0)"), (rich.cell_id, lazy), strict=True)
        if cell_id and (pictures := pictures_of(results, cell_id))
    }
    frames = [pictures.only("weights").assign(panel=name[0]) for name, pictures in found.items()]
    accuracies = [f"{100 * c['best_test_acc']:.0f}%" for i in (rich.cell_id, lazy) if i and (c := network(results, i))]
    missing = "" if lazy else "; no lazy one beside it"
    caption = (
        f"{title}: {described(cell, _NAMED)}, best test accuracy {' and '.join(accuracies)}{missing}; "
        f"{said_of(next(iter(found.values())))}"
    )
    return _Panels(title, HIDDEN_WEIGHTS, Drawn(weights_chart(found), pd.concat(frames), caption, rich.sql))


def _scatters(results: str, sweep: str | None) -> _Panels:
    """Alignment of the halves of hidden weights against readouts on CIFAR-100, rich and lazy."""
    title, drawn = "CIFAR-100", []
    choose = partial(with_neurons, results, sweep, of="task = 'cifar100'", layer=settings("cifar100")["layer"])
    rich = choose(gamma_label="1")
    cell = rich and network(results, rich.cell_id)
    if rich and cell:  # the lazy one is to differ in gamma alone
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
        return Missing("no network of images whose weights were saved (`save: [weights]`)")
    charts: list[Any] = [part.drawn.chart if part.drawn else _to_run(part, results) for part in parts]
    chart = styled(alt.vconcat(*charts, spacing=30)).resolve_scale(color="independent")
    frame = pd.concat([drawn.frame for drawn in there], ignore_index=True)
    sql = ";\n\n".join(drawn.sql for drawn in there if drawn.sql)
    return Drawn(chart, frame, ". ".join(drawn.caption for drawn in there) + ".", sql)


def _to_run(part: _Panels, results: str) -> alt.TopLevelMixin:
    """A panel that says what its data come from."""
    lines = [f"{part.title}: no such networks yet. Run", command_of(part.grid, results)]
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
