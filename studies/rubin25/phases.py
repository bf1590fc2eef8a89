"""Maps over d and N of the pattern of feature learning with the least energy, and measured networks on them [Rubin25 S5, App.
E]."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import log_axis, styled
from analysis.data.selection import Value

from .overlaps import by_chance
from .theory.patterns import NETWORKS, Pattern, exponents, wins_over


@dataclass(frozen=True)
class Mapped:
    """Networks of the theory that have a map, and the sampled networks that are shown on it."""

    name: str
    """Their name among the theory's NETWORKS."""
    keys: Mapping[str, Value]
    """The grid keys of the networks that are sampled for them."""
    grids: str
    """Words about the grids that sample some."""
    growth: Literal["d", "sqrt(d)"] = "d"
    """How widths, or channels, grow where exponents are told."""
    has_two_widths: bool = False
    """True if the first of two hidden layers has a width of its own, N1."""

    @property
    def grid(self) -> str:
        """The first of the grids."""
        return self.grids.split("`")[1]

    @property
    def meanings(self) -> str:
        """Words for the patterns of its map."""
        shown = {word for pattern in NETWORKS[self.name] for word in pattern.name.split("-")}
        return " ".join(f"{word}: {meaning}." for word, meaning in MEANINGS.items() if word in shown)


MAPPED = {
    one.name: one
    for one in (
        Mapped(
            "2-layer erf, He_3",
            {"task": "he3", "network": "erf2", "scaling": "standard"},
            "`nstar_he3_quick` samples some of several d and N",
        ),
        Mapped(
            "2-layer erf, He_3, mean field",
            {"task": "he3", "network": "erf2", "scaling": "mean_field"},
            "`nstar_he3_quick` samples a few, `nstar_he3` more",
        ),
        Mapped(
            "3-layer erf, He_3",
            {"task": "he3", "network": "erf3", "scaling": "standard"},
            "`layers_he3_quick` samples a few, `layers_he3` more",
            has_two_widths=True,
        ),
        Mapped(
            "CNN, linear",
            {"task": "linear", "network": "cnn", "scaling": "standard"},
            "`nstar_cnn` samples some",
            growth="sqrt(d)",
        ),
    )
}
"""Networks with a map, by name."""
WIDE = (2.0, 2.0**20)
"""Range of N on the map: lazy regimes begin at widths far beyond any network's."""
COLOURS = {
    "GP": "#d9dde6", "GP-GP": "#d9dde6", "GFL": "#f3d9a4", "specialisation": "#bfe3c4", "GP-Sp.": "#bfe3c4",
    "Sp.-Mag.": "#c3cdf0",
}  # fmt: skip
"""Colours of the patterns. Patterns that do the same have the same colour; all are pale, so that points stand out."""
MEANINGS = {
    "GP": "lazy", "GFL": "all neurons amplify w* a little (Gaussian feature learning)",
    "specialisation": "a few neurons turn to w*", "Sp.": "specialisation, a few neurons turn to w*",
    "Mag.": "the next layer amplifies what they say",
}  # fmt: skip
"""Words for the patterns, of which names of two layers hold one for each."""
MORE, AS_PRIOR = "neurons specialise", "no more than by chance"
SHAPES = {
    MORE: "circle", f"{MORE} in layer 1 and 2": "circle", f"{MORE} in layer 1": "triangle-down",
    f"{MORE} in layer 2": "triangle-up", AS_PRIOR: "cross",
}  # fmt: skip
"""Shapes by the `state` of a measured size."""


@lru_cache(maxsize=32)
def phase_map(network: str, most_d: float, width1: float | None = None) -> pd.DataFrame:
    """The map as rectangles of one pattern each: d, d_end, N, N_end, pattern; d from 2 on.

    width1: N1 of three layers; None if N1 = N.
    """
    edges_d, edges_n = np.geomspace(2, most_d, 81), np.geomspace(*WIDE, 241)
    d, n = np.meshgrid(np.sqrt(edges_d[:-1] * edges_d[1:]), np.sqrt(edges_n[:-1] * edges_n[1:]), indexing="ij")
    sizes = {"d": d, "N": n, "N2": n, "N1": n if width1 is None else np.full_like(n, width1)}
    winners = wins_over(network, sizes)
    rows = []
    for i, column in enumerate(winners):
        starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
        for start, end in zip(starts, [*starts[1:], len(column)], strict=True):
            ends = {"d": edges_d[i], "d_end": edges_d[i + 1], "N": edges_n[start], "N_end": edges_n[end]}
            rows.append({**ends, "pattern": str(column[start])})
    return pd.DataFrame(rows)


def measured_sizes(specialised: Mapping[int, pd.DataFrame], alignment: pd.DataFrame) -> pd.DataFrame:
    """The measured sizes: at each d and width, the points with most samples P. `state` says in which layers more neurons
    specialise than lie beyond three standard deviations under the prior.

    The networks share one setting of all keys except d, width and P. specialised: by layer, the frame of `Points` of
    n_specialised_..., with intervals; alignment: that of alignment_f.
    """
    keys = ["d", "width", "P"]
    frame = alignment[[*keys, "n", "mean"]].rename(columns={"mean": "alignment"})
    for layer, points in specialised.items():
        width = points["width1"] if layer == 1 and "width1" in points and len(specialised) > 1 else points["width"]
        surely = points["low"].fillna(points["mean"]) > width.map(by_chance)
        columns = {name: points[name] for name in ("mean", "low", "high")} | {"surely": surely}
        renamed = points[keys].assign(**{f"{name} {layer}": column for name, column in columns.items()})
        frame = frame.merge(renamed, on=keys)
    frame = frame.sort_values(["d", "width", "P"]).groupby(["d", "width"]).tail(1).reset_index(drop=True)
    rows = frame[[f"surely {layer}" for layer in specialised]].to_numpy(bool)
    states = [tuple(np.array([*specialised])[row].tolist()) for row in rows]
    frame = frame.drop(columns=[f"surely {layer}" for layer in specialised])
    return frame.assign(state=[_state(layers, len(specialised)) for layers in states])


def _state(layers: tuple[int, ...], of: int) -> str:
    if not layers:
        return AS_PRIOR
    return MORE if of == 1 else f"{MORE} in layer {' and '.join(map(str, layers))}"


def phase_chart(tiles: pd.DataFrame, network: str, sizes: pd.DataFrame | None = None) -> Any:
    """`phase_panel` as a whole figure."""
    return styled(phase_panel(tiles, network, sizes))


def phase_panel(tiles: pd.DataFrame, network: str, sizes: pd.DataFrame | None = None, width: int = 440, height: int = 400) -> Any:
    """The map on logarithmic axes with a point for each measured size."""
    patterns = [pattern.name for pattern in NETWORKS[network]]
    colours = alt.Scale(domain=patterns, range=[COLOURS[name] for name in patterns])
    ends_d = [float(tiles["d"].min()), float(tiles["d_end"].max())]
    axis_d, axis_n = (log_axis(pd.Series(ends), at_values=False) for ends in (ends_d, list(WIDE)))
    x = alt.X("d:Q", title="input dimension d", scale=alt.Scale(type="log", domain=ends_d, nice=False), axis=axis_d)
    y = alt.Y("N:Q", title="width N", scale=alt.Scale(type="log", domain=list(WIDE), nice=False), axis=axis_n)
    fill = alt.Color("pattern:N", title="least energy", scale=colours)
    stroke = alt.Stroke("pattern:N", scale=colours, legend=None)  # else the page shows through between two tiles
    tiled = alt.Chart(tiles).mark_rect(strokeWidth=1, clip=True)
    tiled = tiled.encode(x=x, x2="d_end:Q", y=y, y2="N_end:Q", color=fill, stroke=stroke, tooltip=["pattern:N"])
    layers: list[Any] = [tiled]
    if sizes is not None and len(sizes):
        data = sizes.rename(columns={"width": "N"})
        states = [state for state in SHAPES if (data["state"] == state).any()]
        shape = alt.Shape(
            "state:N", title="measured", scale=alt.Scale(domain=states, range=[SHAPES[state] for state in states]),
            legend=alt.Legend(labelLimit=240),
        )  # fmt: skip
        numbers = [
            alt.Tooltip(f"{name}:Q", format=".3g") for name in map(str, data) if name.startswith(("mean", "low", "high", "align"))
        ]
        points = alt.Chart(data).mark_point(size=70, color="#222", opacity=1, filled=True, clip=True)
        layers.append(points.encode(x=x, y=y, shape=shape, tooltip=["d:Q", "N:Q", "P:Q", *numbers, "n:Q"]))
    return alt.layer(*layers).resolve_legend(color="independent", shape="independent").properties(width=width, height=height)


def pattern_table(of: Mapped) -> pd.DataFrame:
    """Patterns with the exponent of P* in d that each would have if all widths grow as d, or channels of a CNN as sqrt(d)."""
    power = {"d": 1.0, "sqrt(d)": 0.5}[of.growth]

    def law(pattern: Pattern) -> float:
        return exponents(pattern, {"N": power, "N1": power, "N2": power}).energy

    return pd.DataFrame([{"pattern": p.name, f"P* ~ d^e, N as {of.growth}": law(p)} for p in NETWORKS[of.name]])
