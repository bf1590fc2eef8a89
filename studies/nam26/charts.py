"""Charts of how rich networks are [Nam26]: the spectrum of their features, and D_LR and accuracies along training."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.charts.networks.one_network import EXTENT, SERIES, seed_lines, worded
from analysis.data.networks.reading import lists_sql
from analysis.data.points import with_intervals
from sweepkit.declarations.columns import Metric
from sweepkit.store.database import of_cells
from sweepkit.store.views import run

SPECTRUM = ("rho", "quality", "utilisation")
"""The metrics per eigenfunction that `spectrum_chart` draws."""
SHARES = {"utilisation": ("of the output", "#277f8e"), "quality": ("of the target", "#d9a500")}
"""The shares that eigenfunctions hold, in words, and their colours."""
_SHARE = Metric("share", "share", low=0, high=1)
_RHO = "#46327e"


def spectra_sql(cell_ids: Iterable[str]) -> str:
    """The query for the spectra of networks."""
    return lists_sql("spectra", cell_ids, "eigenfunction")


def spectra(results: str, cell_ids: Iterable[str]) -> pd.DataFrame:
    """Spectra of networks, one row per network and eigenfunction k: cell_id, seed, eigenfunction (from 1) and SPECTRUM, NaN for
    metrics that were not saved. No rows for a network that saved none."""
    ids = list(cell_ids)
    found = run(results, lambda connection: connection.execute(spectra_sql(ids)).df(), of_cells(ids))
    return found.reindex(columns=["cell_id", "seed", "eigenfunction", *SPECTRUM])


def n_leading(cell: Mapping[str, Any], spectrum: pd.DataFrame) -> int | None:
    """The number of eigenfunctions that hold all of the output of the richest network: C for C outputs, 2 for one. `cell` is a
    row of `cells`, `spectrum` that of the network; None if these do not tell.

    A row has no C, but `d_lr_rank`, which is C, or C - 1 for classes, or that of fewer features; `pi_hat_C` is the
    utilisation of the first C.
    """
    used, share, rank = spectrum["utilisation"].cumsum().to_numpy(float), cell.get("pi_hat_C"), cell.get("d_lr_rank")
    if share is None or not np.isfinite(share) or not len(used):
        return None
    if rank is None or not np.isfinite(rank):
        return 2
    known = [k for k in (max(2, int(rank)), max(2, int(rank) + 1)) if k <= len(used)]
    return min(known, key=lambda k: abs(used[k - 1] - share), default=None)


def spectrum_chart(
    frame: pd.DataFrame,
    leading: int | Mapping[str, int | None] | None = None,
    cumulative: bool = True,
    strong: Collection[str] | None = None,
    width: int = 330,
    height: int = 190,
) -> alt.TopLevelMixin:
    """Eigenvalues rho_k/rho_1 above, on a logarithmic axis; below, the shares of output and target that the first k
    eigenfunctions hold together, Pi(k), or, unless `cumulative`, that the k-th one adds [Nam26 Eq. 5, 6].

    frame: as of `spectra`, by rising k; networks with the same text in a further column `column` share a column of the chart,
    under that title.
    leading: the k at which the richest network holds all of its output, for a dashed line; by column where they differ.
    strong: networks drawn strong among others in thin lines; without it, means over networks with 95% intervals are drawn.
    width, height: those of a panel in pixels.
    """
    frame = frame if "column" in frame else frame.assign(column="")
    shares, positive = _shares(frame, cumulative), frame["rho"].where(frame["rho"] > 0)
    last = max(2, int(frame["eigenfunction"].max()))
    k = alt.X(
        "eigenfunction:Q", title="eigenfunction k", scale=alt.Scale(domain=[1, last], nice=False, padding=6),
        axis=alt.Axis(grid=False, values=[1, *range(10, last + 1, 10)] if last > 10 else list(range(1, last + 1))),
    )  # fmt: skip
    decades = np.arange(np.floor(np.log10(np.nanmin([positive.min(), 0.1]))), 1)
    rho = partial(
        alt.Y, title="eigenvalue over the first one", scale=alt.Scale(type="log", domain=[10.0 ** decades[0], 1.5], nice=False),
        axis=alt.Axis(values=(10.0 ** decades[:: len(decades) // -6]).tolist(), format=".0e", minExtent=EXTENT),
    )  # fmt: skip
    words, colours = map(list, zip(*SHARES.values(), strict=True))
    colour = worded("of", words, colours)
    most = 1.0 if cumulative else float(np.nanmax([shares["value"].max(), 0.1]))
    share = partial(
        alt.Y, title="share that the first k hold" if cumulative else "share that the k-th adds",
        axis=alt.Axis(minExtent=EXTENT, tickCount=5), scale=alt.Scale(domain=[0, most]),
    )  # fmt: skip
    columns = []
    for column in dict.fromkeys(frame["column"]):
        at = leading.get(column) if isinstance(leading, Mapping) else leading
        rule, name = _rule(at if at and at <= last else None, k)
        of_rho = frame.assign(value=positive, of="")[frame["column"] == column]
        panels = []
        if positive.notna().any():
            panels.append(alt.layer(*rule, *name, *_drawn(of_rho, strong, k, rho, alt.value(_RHO))))
        if len(shares):
            panels.append(alt.layer(*rule, *_drawn(shares[shares["column"] == column], strong, k, share, colour)))
        panels = [panel.properties(width=width, height=height) for panel in panels]
        columns.append(alt.vconcat(*panels, spacing=8).properties(title=column))
    return _side_by_side(columns)


def along_chart(
    curves: pd.DataFrame, strong: Collection[str], log_step: bool = False, width: int = 330, height: int = 190
) -> alt.TopLevelMixin:
    """D_LR beside accuracies along training, and below the test error of real targets and the effective dimension of features.

    curves: rows of the view `curves` with seed, and `column` as in `spectrum_chart`; the networks `strong` are drawn strong.
    """
    curves = curves[curves["step"] > 0] if log_step else curves
    series = {"curve_d_lr": ("laziness D_LR", "#c2532d"), **{name: SERIES[name] for name in ("test_acc", "train_acc")}}
    there = [name for name in series if name in curves and curves[name].notna().any()]
    words, colours = map(list, zip(*(series[name] for name in there), strict=True))
    titled = dict(zip(there, words, strict=True))
    kept = ["cell_id", "seed", "step", "column"]
    long = curves.melt(kept, there, "of", "value").replace({"of": titled})
    colour = worded("of", words, colours)
    x = alt.X("step:Q", title="training step", scale=alt.Scale(type="log" if log_step else "linear", nice=False),
              axis=alt.Axis(grid=False, format="~s"))  # fmt: skip
    title = ", ".join(dict.fromkeys("accuracy" if "acc" in name else "D_LR" for name in there))
    parts: list[tuple[pd.DataFrame, str, list[float], Any]] = [(long, title, [0.0, 1.0], colour)]
    below = {"curve_d_eff": ("effective dimension", _RHO)}
    if not {"test_acc", "train_acc"} & {*there}:
        below = {"eval_test_mse": ("test mean squared error", SERIES["test_acc"][1]), **below}
    for name, (title, single) in below.items():
        if name in curves and curves[name].notna().any():
            values = curves[[*kept, name]].rename(columns={name: "value"}).assign(of="")
            ends = [float(values["value"].min()), float(values["value"].max())]
            parts.append((values, title, ends, alt.value(single)))
    columns = []
    hover = ["seed:Q", "step:Q", "of:N", alt.Tooltip("value:Q", format=".4g")]
    for column in dict.fromkeys(curves["column"]):
        panels: list[Any] = []
        for frame, title, domain, color in parts:
            y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=domain), axis=alt.Axis(minExtent=EXTENT, tickCount=5))
            of = frame[frame["column"] == column].dropna(subset=["value"])
            layers = seed_lines(of, strong, x.title(None) if title != parts[-1][1] else x, y, hover, color)
            panels.append(alt.layer(*layers).properties(width=width, height=height if not panels else height * 2 // 3))
        columns.append(alt.vconcat(*panels, spacing=8).properties(title=column))
    return _side_by_side(columns)


def _side_by_side(columns: Sequence[Any]) -> Any:
    return styled(alt.hconcat(*columns, spacing=24).resolve_scale(color="shared") if len(columns) > 1 else columns[0])


def _shares(frame: pd.DataFrame, cumulative: bool) -> pd.DataFrame:
    """One row per network, eigenfunction and what it holds a share of: `of`, in words, and `value`."""
    parts = []
    for name, (words, _) in SHARES.items():
        of = frame.groupby(["column", "cell_id"], sort=False)[name]
        parts.append(frame.assign(of=words, value=of.cumsum() if cumulative else frame[name]))
    return pd.concat(parts, ignore_index=True).dropna(subset=["value"])


def _rule(at: int | None, x: Any) -> tuple[list[Any], list[Any]]:
    """A dashed line at this k, and its name."""
    if at is None:
        return [], []
    base = alt.Chart(pd.DataFrame({"eigenfunction": [at], "words": [f"k = {at}"]})).encode(x=x)
    name = base.mark_text(align="left", dx=5, color="#666").encode(y=alt.value(9), text="words:N")
    return [base.mark_rule(color="#888", strokeDash=[5, 3])], [name]


def _drawn(long: pd.DataFrame, strong: Collection[str] | None, x: Any, y: "partial[Any]", color: Any) -> list[Any]:
    """Lines of single networks, or of their means with intervals, of the column `value`; `y` is the encoding of any column."""
    long = long.dropna(subset=["value"])[["cell_id", "seed", "eigenfunction", "of", "value"]]
    if strong is not None:
        hover = ["seed:Q", "eigenfunction:Q", alt.Tooltip("value:Q", format=".4g")]
        return seed_lines(long, strong, x, y("value:Q"), hover, color)
    of = long.groupby(["of", "eigenfunction"], sort=False)["value"]
    means = of.agg(n="count", value="mean", sd="std", seeds=list).reset_index()
    # Networks with fewer eigenfunctions end earlier; a mean over the others would jump there.
    means = means[means["n"] == means.groupby("of")["n"].transform("max")]
    ends = with_intervals(means.assign(mean=means["value"]), _SHARE)
    low, high = y.keywords["scale"].domain
    ends = ends.assign(low=ends["low"].clip(low, high), high=ends["high"].clip(low, high))
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("mean", "low", "high")]
    base = alt.Chart(ends).encode(x=x, color=color, tooltip=["eigenfunction:Q", *numbers, "n:Q"])
    band = base.mark_area(opacity=0.22, strokeWidth=0).encode(y=y("low:Q"), y2="high:Q")
    return [band, base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=18)).encode(y=y("value:Q"))]
