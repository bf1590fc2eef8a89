"""Figures of the neurons that specialise at equilibrium [Rubin25]: their number in two layers against sqrt(N/d), their layer in
networks of three layers against the first width, and their magnitude on parity.

M, M1, M2   specialising neurons: overlap with w* beyond three standard deviations of the prior; those of layer 1, of layer 2
N, N1, N2   widths
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import colour_of, colours, log_axis, styled
from analysis.data.choosing import matching
from analysis.data.points import Setting, in_order, one_setting, points
from analysis.data.selection import Selection
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.scaling.proportion import in_power
from sweepkit.console.words import counted
from sweepkit.stats import FEWEST_OF_LAW, power_law

from ..bound import AS_ROOT, specialised_neurons
from ..theory.parity import specialised as specialised_on_parity
from ..theory.three_layers import gp_sp, sp_mag
from .alignment import HE3, told


class Counts(NamedTuple):
    """Numbers of specialising neurons over some axes, in one setting of the other keys; the frame also has the networks' mean
    `alignment`."""

    setting: Setting
    sql: str


def _counts(
    results: str, sweep: str | None, only: Mapping[str, Any], layer: int, axes: Sequence[str], along: str | None = None
) -> Counts | None:
    """The counts of a layer; None if there are none, or only at one value of the first axis.

    along: a key whose value may differ from d to d.
    """
    selection = Selection(sweep).only(only)
    found = points(results, selection, f"n_specialised_{layer}")
    if found.frame.empty or found.frame[axes[0]].nunique() < 2:
        return None
    setting = one_setting(found.frame, found.keys, axes, declared=found.declared)
    if along:
        setting = _along(setting, found.frame, along)
    aligned = points(results, selection.only({key: [value] for key, value in setting.values.items()}), "alignment_f").frame
    keys = [*axes, *([along] if along else [])]
    keys = [key for key in ("d", *keys) if key in setting.frame and key in aligned]
    frame = setting.frame.merge(aligned[[*keys, "mean"]].rename(columns={"mean": "alignment"}), on=keys)
    return Counts(setting._replace(frame=frame), found.sql)


def _along(setting: Setting, frame: pd.DataFrame, key: str) -> Setting:
    """The setting with networks of other d added. At each other d, `key` takes the value that has most widths there; of several
    such values, the largest."""
    values = {name: value for name, value in setting.values.items() if name not in ("d", key)}
    frame = frame[matching(frame, values)]
    parts = []
    for d, of_d in frame.groupby("d"):
        widths = of_d.groupby(key)["width"].nunique()
        told = setting.values[key] if d in setting.frame["d"].to_numpy() else widths[widths == widths.max()].index.max()
        parts.append(of_d[of_d[key] == told])
    return setting._replace(frame=pd.concat(parts, ignore_index=True), values=values)


def outliers(results: str, sweep: str | None) -> Drawn | Missing:
    """M against sqrt(N/d), beside the neurons that the bound asks for in networks of the same alignment less its lazy share."""
    found = _counts(results, sweep, HE3 | {"scaling": "standard"}, 1, ("width",), along="P")
    if found is None or not (found.setting.frame["mean"] > 0).any():
        return Missing("no 2-layer erf networks at equilibrium on he3 of several widths with a neuron that specialises")
    setting = found.setting
    frame = setting.frame.assign(root=(setting.frame["width"] / setting.frame["d"]) ** 0.5)
    frame["bound"] = specialised_neurons(frame, "standard")
    shown = frame[frame["mean"] > 0]
    log = alt.Scale(type="log", nice=False, padding=14)
    x = alt.X("root:Q", title="sqrt(N/d)", scale=log, axis=log_axis(frame["root"], format=".3~r"))
    y = alt.Y("mean:Q", title="specialising neurons M", scale=log, axis=log_axis(shown["mean"], grid=True, at_values=False))
    colour = colour_of(frame, "d")
    numbers = ("mean", "low", "high", "bound", "alignment")
    chart = _beside(shown, frame.dropna(subset="bound"), x, y, ("bound", "the bound"), colour, numbers)
    said = []
    for d in in_order(shown, "d"):
        of_d = shown[shown["d"] == d]
        if len(of_d) >= FEWEST_OF_LAW:
            value, low, high, *_ = power_law(of_d["width"], of_d["mean"]).exponent
            expected = f"{power_law(of_d['width'], of_d['bound']).exponent.value:.2f}" if (of_d["bound"] > 0).all() else "none"
            said.append(f"d = {d:g}: M ~ N^{value:.2f} ({low:.2f} to {high:.2f}, {len(of_d)} widths), the bound's {expected}")
    about = told(results, sweep, setting)
    if hidden := len(frame) - len(shown):
        said.append(f"{counted(hidden, 'size')} without a specialising neuron not shown")
    law = (
        "The law M = sqrt(N/d) has 1/2; dashed: what the bound asks for at the alignment that the networks have, less the share "
        "of lazy learning"
    )
    columns = ["d", "width", "P", "n", "mean", "low", "high", "bound", "alignment"]
    return Drawn(chart, frame[columns], ". ".join([about, *said, law]) + ".", found.sql)


def _beside(
    frame: pd.DataFrame, theory: pd.DataFrame, x: Any, y: Any, line: tuple[str, str], colour: Any, numbers: Sequence[str]
) -> alt.TopLevelMixin:
    """Points with intervals, and theory as a dashed line.

    line: the column of `theory` and its name in the legend; `theory` may lack some points. numbers: columns that are shown on
    hover.
    """
    column, name = line
    dash = alt.StrokeDash("line:N", title="theory", scale=alt.Scale(domain=[name], range=[[6, 4]]))
    base = alt.Chart(frame.assign(drawn=frame["low"].clip(lower=frame["mean"] / 10)))  # a logarithmic axis has no 0
    hover = ["d", "width", "P", *(alt.Tooltip(f"{name}:Q", format=".3g") for name in numbers), "n:Q"]
    layers: list[Any] = [
        alt.Chart(theory.assign(line=name)).mark_line().encode(x=x, y=f"{column}:Q", color=colour, strokeDash=dash),
        base.mark_rule(strokeWidth=1.5).encode(x=x, y="drawn:Q", y2="high:Q", color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=hover),
    ]
    return styled(alt.layer(*layers).properties(width=380, height=300))


def switch_off(results: str, sweep: str | None) -> Drawn | Missing:
    """M1 and M2 of three layers against N1, and the pattern with the least energy at each N1."""
    only = {"task": "he3", "network": "erf3"}
    first, second = (_counts(results, sweep, only, layer, ("width1",)) for layer in (1, 2))
    if first is None or second is None:
        return Missing("no 3-layer erf networks at equilibrium on he3 of several first widths")
    names = ["layer 1", "layer 2"]
    frame = pd.concat([found.setting.frame.assign(layer=name) for found, name in zip((first, second), names, strict=True)])
    energies = _energies(first.setting.frame, first.setting.values)
    frame = frame.merge(energies, on="width1", how="left")
    x = alt.X(
        "width1:Q", title="first width N1", scale=alt.Scale(type="log", nice=False, padding=14), axis=log_axis(frame["width1"])
    )
    colour = alt.Color("layer:N", title="neurons of", scale=alt.Scale(domain=names, range=colours(2)))
    hover = [
        "width1",
        "layer",
        *(alt.Tooltip(f"{name}:Q", format=".3g") for name in ("mean", "low", "high", "alignment")),
        "pattern",
        "n:Q",
    ]
    base = alt.Chart(frame)
    counts = alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        base.mark_line(strokeWidth=1.5).encode(x=x, y="mean:Q", color=colour),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x, y=alt.Y("mean:Q", title="specialising neurons"), color=colour, tooltip=hover
        ),
    ).properties(width=340, height=280)
    of_networks = alt.Chart(first.setting.frame)
    aligned = alt.layer(
        of_networks.mark_line(strokeWidth=1.5).encode(x=x, y="alignment:Q"),
        of_networks.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=alt.Y("alignment:Q", title="alignment A_f")),
    ).properties(width=260, height=280)
    listed = [
        f"{M1:.2g} and {M2:.2g} ({pattern}) at N1 = {n1:g}" for n1, M1, M2, pattern in energies.itertuples(index=False) if pattern
    ]
    said = (
        "Theory with constants, at the alignment that the networks have: the first layer specialises with M1 neurons (Sp.-Mag.) "
        f"or the second with M2 (GP-Sp.), whichever costs less; M1 and M2 {', '.join(listed)}"
    )
    about = told(results, sweep, first.setting)
    columns = ["width1", "layer", "n", "mean", "low", "high", "alignment", "M1", "M2", "pattern"]
    return Drawn(styled(alt.hconcat(counts, aligned, spacing=24)), frame[columns], f"{about}. {said}.", first.sql)


def _energies(frame: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """For each N1 the M1 of Sp.-Mag., the M2 of GP-Sp., and the pattern of less energy; empty where networks are not aligned."""
    rows = []
    d, N2 = int(values["d"]), int(values["width"])
    for width1, alignment in zip(frame["width1"], frame["alignment"], strict=True):
        row: dict[str, Any] = {"width1": width1, "M1": np.nan, "M2": np.nan, "pattern": ""}
        if alignment > 0:
            first, second = sp_mag(float(alignment), d, int(width1), N2), gp_sp(float(alignment), d, N2)
            row |= {"M1": first.M1, "M2": second.M2}
            row["pattern"] = "Sp.-Mag." if first.energy < second.energy else "GP-Sp."
        rows.append(row)
    return pd.DataFrame(rows)


def magnitude(results: str, sweep: str | None) -> Drawn | Missing:
    """Magnitude |mu| of neurons that specialise on parity against N/d, beside one neuron's theory and the law (N/d)^(1/4).

    The networks' P grows as sqrt(N d), like the P that they need: at one P, wide networks answer less and have smaller neurons.
    """
    only = {"task": "parity2", "network": "relu2", "loss": "cross_entropy", "scaling": "standard"}
    found = points(results, Selection(sweep).only(only), "magnitude_1")
    if found.frame.empty or found.frame["width"].nunique() < FEWEST_OF_LAW:
        return Missing("no ReLU networks at equilibrium on parity2 under cross entropy of three widths")
    axes = ("width", "P", "d")
    setting = one_setting(found.frame, found.keys, axes, declared=found.declared)
    setting = setting._replace(frame=in_power(setting.frame, "P", AS_ROOT))
    if setting.frame["width"].nunique() < FEWEST_OF_LAW:
        return Missing("no three widths of networks on parity2 with P in proportion to sqrt(N d)")
    kappa = float(str(setting.values["kappa"]))
    frame = setting.frame.assign(ratio=setting.frame["width"] / setting.frame["d"])
    frame["theory"] = [_one_neuron(*size, kappa) for size in zip(frame["d"], frame["width"], frame["P"], strict=True)]
    log = alt.Scale(type="log", nice=False, padding=14)
    x = alt.X("ratio:Q", title="N/d", scale=log, axis=log_axis(frame["ratio"], format=".3~r"))
    y = alt.Y("mean:Q", title="magnitude |mu|", scale=log, axis=alt.Axis(format=".2~f", tickCount=6))
    colour = colour_of(frame, "d")
    theory = frame.dropna(subset="theory")
    chart = _beside(frame, theory, x, y, ("theory", "one neuron's"), colour, ("mean", "low", "high", "theory"))
    said = []
    for d in in_order(frame, "d"):
        of_d = frame[frame["d"] == d]
        if of_d["ratio"].nunique() >= FEWEST_OF_LAW:
            value, low, high, *_ = power_law(of_d["ratio"], of_d["mean"]).exponent
            known = of_d.dropna(subset="theory")
            expected = f"{power_law(known['ratio'], known['theory']).exponent.value:.3f}" if len(known) > 1 else "none"
            said.append(f"d = {d:g}: |mu| ~ (N/d)^{value:.3f} ({low:.3f} to {high:.3f}), one neuron's theory {expected}")
    law = "The limit has 1/4; dashed: the posterior of one neuron at these sizes, nothing fitted"
    columns = ["d", "width", "P", "n", "mean", "low", "high", "theory"]
    return Drawn(chart, frame[columns], ". ".join([told(results, sweep, setting), *said, law]) + ".", found.sql)


def _one_neuron(d: float, width: float, n_train: float, kappa: float) -> float:
    try:
        return specialised_on_parity(d, width, n_train, kappa).magnitude
    except ValueError:  # at these sizes the neuron does not specialise
        return np.nan


SPECIALISING_FIGURES = [
    Figure("Outliers", "Networks at equilibrium: how many neurons specialise, against sqrt(N/d)", "[Rubin25 Fig. 2c]",
           ("neurons_he3", "nstar_he3_quick"), outliers),
    Figure("Layers", "Three layers at equilibrium: where neurons specialise, against the first width", "[Rubin25 Fig. 3c]",
           ("layers_he3", "layers_he3_quick"), switch_off),
    Figure("Magnitude", "Parity at equilibrium: how large specialising neurons are, against N/d", "[Rubin25 App. E.2]",
           ("parity", "parity_quick"), magnitude),
]  # fmt: skip
