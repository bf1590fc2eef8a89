"""Networks at equilibrium: the pattern of feature learning with the least energy at each size, and neurons that turn to the
target."""

import math
from typing import Any

import pandas as pd
import streamlit as st

from analysis.data.choosing import matching
from analysis.data.networks.reading import networks
from analysis.data.points import Setting, one_setting, settings_of, varying
from analysis.data.progress.showing import NEEDS
from analysis.data.selection import Selection
from analysis.python_lines import sql_lines
from app.choices import captioned_of, points_of, rest, unmixed
from app.controls import check_link, choice, sweep_choice
from app.downloads import downloads
from app.setting_boxes import fixed
from app.shared import figure, links, remembered
from sweepkit.console.commands import sweep_command
from sweepkit.console.words import counted

from ..bound import MEASURE, OVER, scaling_of
from ..overlaps import BOUND, PRIOR, Overlaps, by_chance, expected, overlap_chart, overlaps
from ..phases import AS_PRIOR, MAPPED, Mapped, measured_sizes, pattern_table, phase_chart, phase_map
from ..theory.gaussian_process import lazy_alignment, less_lazy
from ..theory.large_deviation import OUTLIER, Scaling

COUNTS, ALIGNMENT = ("n_specialised_1", "n_specialised_2"), "alignment_f"
AXES = ("d", "width", "P")


def show(results: str) -> None:
    """The page."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=260):
            selection = sweep_choice(results)
        network = MAPPED[choice("Network", list(MAPPED), _most(results, selection), key="pattern_of", width=260)]
    of, selection = selection.sweep, selection.only(network.keys)
    if remembered(networks, results, selection, None).frame.empty:
        here = "This store" if of is None else f"Sweep `{of}`"
        st.info(f"{here} has no finished network of kind {network.name}, so that the map is theory alone; {network.grids}:")
        st.code(sweep_command(network.grid, results), language="bash", wrap_lines=True)
        _phases(results, selection, network)
    else:
        _neurons(results, selection, _phases(results, selection, network))
    check_link()


def _most(results: str, selection: Selection) -> str:
    """The network whose map shows most points at first, or that has most points where no map shows any."""

    def rank(network: str) -> tuple[int, int]:
        found = points_of(results, selection.only(MAPPED[network].keys), COUNTS[0])
        n = len(points_of(results, selection.only(MAPPED[network].keys), ALIGNMENT).frame)
        if found.frame.empty or not {*AXES} <= {*found.keys}:
            return 0, n
        first = one_setting(found.frame, found.keys, AXES, settings_of(found.frame) | {"scaling": "standard"}, found.declared)
        return len(first.frame[["d", "width"]].drop_duplicates()), n

    return max(MAPPED, key=rank)


def _phases(results: str, selection: Selection, network: Mapped) -> Setting | None:
    """Show the map; the result is the setting whose sizes it shows, None if the map is theory alone."""
    st.subheader("Which pattern", anchor=False, help="The pattern whose least energy is the lowest appears [Rubin25 S5, App. E]")
    found = points_of(results, selection, ALIGNMENT)
    sizes, about, setting = None, "The map is theory alone.", None
    width1: float | None = None
    if {*AXES} <= {*found.keys} and not found.frame.empty:
        with st.container(horizontal=True):
            setting = rest(found, AXES)
        of_layers = [points_of(results, selection, name).frame for name in COUNTS]
        counts = {
            i: part
            for i, frame in enumerate(of_layers, start=1)
            if len(frame) and len(part := frame[matching(frame, {k: v for k, v in setting.values.items() if k in frame})])
        }
        sizes = measured_sizes(counts, setting.frame) if counts else None
        width1 = None if setting.values.get("width1") is None else float(str(setting.values["width1"]))
        about = (
            "The map is theory alone: specialising neurons were not counted."
            if sizes is None
            else _about_sizes(results, selection, setting, sizes)
        )
    most_d = max(1024.0, 2.0 * float(sizes["d"].max())) if sizes is not None else 1024.0
    chart = phase_chart(phase_map(network.name, most_d, width1), network.name, sizes)
    left, right = st.columns([2, 1])
    with left:
        figure(chart, "phases")
    with right:
        st.dataframe(pattern_table(network), hide_index=True, width="content")
        st.markdown(f"{network.meanings} Energies are known up to constants, and so are the borders.")
        if "scaling" in links:
            st.page_link(links["scaling"], label="P*(d) and collapse: Scaling")
    if network.has_two_widths:
        about = f"Map at N1 = {'N, N being N2' if width1 is None else format(width1, 'g')}. {about}"
    st.caption(about)
    if sizes is not None:
        downloads(f"patterns-{network.name}", sizes, chart, found.sql, sql_lines(results, found.sql))
        with st.expander("Table of measured sizes"):
            st.dataframe(sizes, hide_index=True)
    return setting


def _about_sizes(results: str, selection: Selection, setting: Setting, sizes: pd.DataFrame) -> str:
    shown = sizes[["d", "width", "P"]].merge(setting.frame, on=["d", "width", "P"])
    n = counted(int(sizes["n"].sum()), "network")
    told = ", ".join(filter(None, [n, unmixed(results, selection, shown)]))
    many = int((sizes["state"] != AS_PRIOR).sum())
    of_all = f"{many} of {counted(len(sizes), 'size')}"
    return (
        f"{captioned_of(results, setting.values)}; {told}: at each d and N, those with most samples P. In {of_all}, more neurons "
        f"specialise than lie beyond {OUTLIER:g} standard deviations in the prior, by the 95% interval (for one seed, its value)."
    )


def _neurons(results: str, selection: Selection, setting: Setting | None) -> None:
    st.subheader("Hidden neurons", anchor=False, help="How far the first layer's weights turn to the target's direction w*")
    found = remembered(networks, results, selection, "neurons")
    n = len(found.frame)
    if setting:
        held = {key: value for key, value in setting.values.items() if key in found.frame}
        found = found._replace(frame=found.frame[matching(found.frame, held)])
    if found.frame.empty:
        _no_histogram(results, n > 0)
        return
    names = varying(found.frame, found.keys)
    with st.container(horizontal=True):
        chosen = fixed(found, names, _largest(found.frame), width=140)
    row = found.frame[matching(found.frame, chosen)].iloc[0]
    kept = remembered(overlaps, results, tuple(row["cells"]), _first_width(row))
    if kept is None:
        _no_histogram(results, False)
        return
    _histogram(results, row, kept)


def _first_width(row: "pd.Series[Any]") -> int:
    """Number of neurons in the first layer, whose overlaps are kept: N1 of three layers."""
    return int(row["width1"] if "width1" in row and not pd.isna(row["width1"]) else row["width"])


def _no_histogram(results: str, elsewhere: bool) -> None:
    """Say that these networks kept no histogram, and what to do. `elsewhere`: whether networks of other settings kept some."""
    if elsewhere:
        st.info("These networks kept no histogram of overlaps, others of this kind did: choose other values above.")
        return
    st.info("These networks kept no histogram of overlaps: `save: [curves, neurons]` in a grid does that. One that does:")
    st.code(sweep_command(NEEDS["specialisation"].grid, results), language="bash", wrap_lines=True)


def _largest(frame: pd.DataFrame) -> dict[str, Any]:
    """The values to show first: most samples, where neurons specialise."""
    return {"P": frame["P"].max()} if "P" in frame else {}


def _histogram(results: str, row: "pd.Series[Any]", kept: Overlaps) -> None:
    keys = {str(key): value for key, value in row.items() if key not in ("n", "seeds", "cells") and not pd.isna(value)}
    alignment = kept.alignment
    N, d = kept.width, int(row["d"])
    theory = {PRIOR: expected(0.0, N, d, "standard").frame}
    said = f"{by_chance(N):.2g} by chance"
    scaling = scaling_of(keys, MEASURE, OVER)
    if scaling and math.isfinite(alignment):
        of_lazy = lazy_alignment(float(keys["P"]), N, d, float(keys["kappa"]), scaling)
        bound = remembered(_expected, results, round(less_lazy(alignment, of_lazy), 4), N, d, scaling)
        theory[BOUND] = bound.frame
        said += f", {bound.specialised:.3g} asked for by the bound at this alignment less the share of lazy learning, which "
        said += f"alone reaches {of_lazy:.2g} (t = {bound.t:.3g})"
    chart = overlap_chart(kept, theory)
    figure(chart, "overlaps")
    lost = f"{kept.n_unmixed} of which did not mix" if kept.n_unmixed else ""
    n = ", ".join(filter(None, [counted(int(row["n"]), "network"), lost]))
    outside = f"; {kept.beyond:.2g} neurons lie beyond the axis, in its outermost bins" if kept.beyond else ""
    interval = " with its 95% interval" if kept.frame["low"].notna().any() else ", one seed: no interval"
    known = f"A_f = {alignment:.3g}" if math.isfinite(alignment) else "without an alignment that is a number"
    st.caption(
        f"{captioned_of(results, keys)}; {n}, {known}. Bars: first layer, mean over samples of the posterior and seeds"
        f"{interval}. Neurons beyond {OUTLIER:g} standard deviations, grey lines: {kept.specialised:.3g} of {N} measured, "
        f"{said}{outside}."
    )
    downloads("overlaps", kept.frame, chart, kept.sql, sql_lines(results, kept.sql))
    with st.expander("Table of the histogram"):
        st.dataframe(kept.frame[kept.frame["neurons"] > 0], hide_index=True)


def _expected(_: str, alignment: float, N: int, d: int, scaling: Scaling) -> Any:
    return expected(alignment, N, d, scaling)
