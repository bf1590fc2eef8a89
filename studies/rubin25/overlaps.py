"""Overlaps of hidden neurons with the target's direction at equilibrium, beside the prior and the large-deviation bound.

z      overlap w.w* in standard deviations of the prior: N(0, 1) before any data
M      specialising neurons, |z| > OUTLIER; N width
A_f    alignment; the bound's density of z is that of networks of this alignment
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
from scipy.special import erfc

from analysis.charts.curves import styled
from analysis.data.selection import finite
from sweepkit.stats import t_intervals
from sweepkit.store.database import of_cells
from sweepkit.store.sql import literal
from sweepkit.store.views import run

from .theory.large_deviation import OUTLIER, Scaling, aligned, n_specialised, overlap_density

EDGES = np.linspace(-30, 30, 121)
"""Edges of the bins of `overlap` in the store, the same as OVERLAP_EDGES of trainables (a test compares them); the outermost bins
hold what lies beyond."""
LEAST_SHOWN = 3e-6
"""Least density shown: a lower one means no neuron in all samples of a few networks."""
PRIOR, BOUND = "prior N(0, 1)", "large-deviation bound"
LOOKS = {PRIOR: ("#777", [2, 2]), BOUND: ("#c2532d", [6, 4])}


class Overlaps(NamedTuple):
    """Mean histogram over networks that differ in their seed only."""

    frame: pd.DataFrame
    """One row per bin: z at its middle, n networks, `neurons` in it, and `density`, their share per unit of z, with a 95%
    interval."""
    width: int
    alignment: float
    """Mean A_f of the networks; NaN if none has one."""
    n_unmixed: int
    """Number of networks in the mean that did not mix."""
    sql: str

    @property
    def specialised(self) -> float:
        """M, the number of specialising neurons."""
        inside = self.frame["z"].abs() > OUTLIER
        return float(self.frame.loc[inside, "neurons"].sum())

    @property
    def beyond(self) -> float:
        """Neurons in the outermost bins."""
        return float(self.frame["neurons"].iloc[[0, -1]].sum())


def overlaps(results: str, cell_ids: Iterable[str], width: int) -> Overlaps | None:
    """The mean histogram of networks of one setting; None if none of them kept one. ValueError if their bins are
    not those of EDGES."""
    cells = list(cell_ids)
    of_these = f"FROM internal.best_neurons WHERE cell_id IN ({', '.join(map(literal, cells))}) AND overlap IS NOT NULL"
    sql = f"""SELECT bin, count(*) AS n, avg(neurons) AS neurons, stddev_samp(neurons) AS sd
FROM (SELECT unnest(range(len(overlap))) AS bin, unnest(overlap) AS neurons {of_these})
GROUP BY bin ORDER BY bin"""
    told = f"SELECT {finite('avg', 'alignment_f', ok=False)}, count(*) FILTER (NOT mixed) {of_these}"
    frame, (alignment, n_unmixed) = run(
        results, lambda connection: (connection.execute(sql).df(), connection.execute(told).fetchall()[0]), of_cells(cells)
    )
    if frame.empty:
        return None
    alignment = np.nan if alignment is None else float(alignment)
    if len(frame) != len(EDGES) - 1:
        raise ValueError(f"histograms of {len(frame)} bins, whose edges are not known")
    unit = width * float(EDGES[1] - EDGES[0])
    low, high = t_intervals(frame["neurons"].to_numpy(), frame["sd"].to_numpy(), frame["n"].to_numpy(), bounds=(0, np.inf))
    frame = frame.assign(z=(EDGES[:-1] + EDGES[1:]) / 2, density=frame["neurons"] / unit, low=low / unit, high=high / unit)
    return Overlaps(frame[["z", "n", "neurons", "density", "low", "high"]], width, alignment, n_unmixed, sql)


def by_chance(width: int) -> float:
    """Expected number of the N neurons beyond OUTLIER under the prior."""
    return float(width * erfc(OUTLIER / np.sqrt(2)))


class Expected(NamedTuple):
    """The overlaps that the bound asks for in networks of one alignment: t, the number of neurons M, and the density over z."""

    t: float
    specialised: float
    frame: pd.DataFrame


def expected(alignment: float, N: int, d: int, scaling: Scaling) -> Expected:
    """The bound's overlaps for 2-layer erf networks on He_3, alignment being what their specialising neurons supply; those of the
    prior itself if that is not positive."""
    z = np.linspace(EDGES[0], EDGES[-1], 2401)
    t = aligned(alignment, N, d, scaling).t if alignment > 0 else 0.0
    beyond = n_specialised(alignment, N, d, scaling) if alignment > 0 else by_chance(N)
    return Expected(t, beyond, pd.DataFrame({"z": z, "density": overlap_density(z, t, N, d, scaling)}))


def overlap_chart(found: Overlaps, theory: Mapping[str, pd.DataFrame], width: int = 620, height: int = 320) -> alt.TopLevelMixin:
    """The histogram as steps with intervals, densities of theory as lines. The axis is logarithmic, as few neurons specialise."""
    data = found.frame[found.frame["neurons"] > 0]
    lines = pd.concat([frame.assign(line=name) for name, frame in theory.items()], ignore_index=True)
    lines = lines[lines["density"] > LEAST_SHOWN]
    reach = min(float(EDGES[-1]), max(5.0, float(pd.concat([data["z"], lines["z"]]).abs().max()) + 1))
    top = float(np.nanmax([*data["high"], *data["density"], *lines["density"]])) * 1.5
    floor = max(LEAST_SHOWN, float(min(data["density"].min(), 1e-3)) / 3)
    decades = (10.0 ** np.arange(np.ceil(np.log10(floor)), np.log10(top))).tolist()
    scale_y = alt.Scale(type="log", domain=[floor, top], nice=False)
    title, scale_x = "overlap with w* in standard deviations of the prior", alt.Scale(domain=[-reach, reach], nice=False)
    x = alt.X("z:Q", title=title, scale=scale_x)
    y = alt.Y("density:Q", title="density of neurons", scale=scale_y, axis=alt.Axis(format="~e", values=decades))
    half = float(EDGES[1] - EDGES[0]) / 2
    bars = data.assign(start=data["z"] - half, end=data["z"] + half, floor=floor, low=data["low"].clip(lower=floor))
    hover = [alt.Tooltip(f"{name}:Q", format=".3g") for name in ("z", "neurons", "density", "low", "high")]
    base = alt.Chart(bars)
    names = list(theory)
    colour = alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=[LOOKS[name][0] for name in names]))
    dash = alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=names, range=[LOOKS[name][1] for name in names]))
    outliers = alt.Chart(pd.DataFrame({"at": [-OUTLIER, OUTLIER]})).mark_rule(color="#bbb")
    layers: list[Any] = [
        outliers.encode(x="at:Q"),
        base.mark_rect(color="#365c8d", opacity=0.45, clip=True).encode(
            x=alt.X("start:Q", title=title, scale=scale_x), x2="end:Q", y=y, y2="floor:Q", tooltip=[*hover, "n:Q"]),
        base.mark_rule(color="#365c8d", strokeWidth=1.2, clip=True).encode(x=x, y=alt.Y("low:Q", scale=scale_y), y2="high:Q"),
        alt.Chart(lines).mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash),
    ]  # fmt: skip
    return styled(alt.layer(*layers).properties(width=width, height=height))
