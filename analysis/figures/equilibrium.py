"""Figures of networks at equilibrium [Rubin25]: P*(d) beside the large-deviation bound, curves of alignment over P / P*, and
which pattern wins where.

d, N   input dimension, width; A_f alignment; P* samples at which its mean over seeds crosses a level
E      energy of the bound: P* ~ kappa E(A_f), so that E is to be compared by its slope
"""

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts import colour_of, log_axis, styled
from analysis.claims.measuring import FEWEST_D
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.points import Setting, counted, described, in_order, n_seeds, one_setting, points
from analysis.proportion import in_proportion
from analysis.scaling import exponent, threshold_table, thresholds
from analysis.scaling_charts import threshold_panel
from analysis.selection import Selection
from analysis.theory.large_deviation import energy, slope
from analysis.theory.patterns import NETWORKS, wins
from store.views import fetch

ONSET = 0.1
"""A_f at which networks begin to learn; grids/nstar_he3_quick.yaml searches for it and says why."""
HE3 = {"task": "he3", "network": "erf2", "scaling": "standard"}


def measured(results: str, sweep: str | None, level: float = ONSET) -> tuple[Setting, pd.DataFrame, str] | Missing:
    """Networks with N in one proportion to d, their thresholds P*(d), and the query behind them."""
    found = points(results, Selection(sweep).only(HE3), "alignment_f")
    if found.frame.empty:
        return Missing("no erf networks at equilibrium on he3")
    setting = one_setting(found.frame, found.keys, ("P", "d", "width"))
    setting = setting._replace(frame=in_proportion(setting.frame))
    frame = thresholds(setting.frame, level, "P")
    return (setting, frame, found.sql) if len(frame) > 1 else Missing("no thresholds at two d with N in one proportion to d")


def p_star(results: str, sweep: str | None) -> Drawn | Missing:
    """P*(d) with the fitted law, and the bound's curve moved onto it: its slope is what it predicts."""
    found = measured(results, sweep)
    if isinstance(found, Missing):
        return found
    setting, frame, sql = found
    table = threshold_table(frame, ["d", "width"])
    fit = exponent(frame) if sum(t.reached == "reached" for t in frame["threshold"]) >= FEWEST_D else None
    panel = threshold_panel(table, "P", "d", fits={None: fit} if fit else None, width=380, height=300, task="he3")
    reached = table[table["state"] == "reached"]
    said = ""
    if len(reached) > 1:
        d, N = (reached[key].to_numpy() for key in ("d", "width"))
        bound = np.array([energy(ONSET, int(n), int(k)) for n, k in zip(N, d, strict=True)])
        moved = bound * np.exp(np.mean(np.log(reached["threshold"].astype(float)) - np.log(bound)))
        line = alt.Chart(pd.DataFrame({"d": d, "value": moved})).mark_line(strokeDash=[6, 4], color="#c2532d", strokeWidth=2)
        panel = alt.layer(panel, line.encode(x="d:Q", y="value:Q"))
        said = f" The bound E({ONSET:g}) has slope {slope(ONSET, N, d):.2f} over these d: dashed, moved onto the points."
    fitted = (
        f" P* ~ d^{fit.interval.value:.2f} ({fit.interval.low:.2f} to {fit.interval.high:.2f}, n = {fit.n_used})." if fit else ""
    )
    return Drawn(styled(panel.properties(width=380, height=300)), table, f"{_about(results, setting)}.{fitted}{said}", sql)


def _about(results: str, setting: Setting) -> str:
    ratio = float((setting.frame["width"] / setting.frame["d"]).iloc[0])
    networks = counted(int(setting.frame["n"].sum()), "network")
    fixed = described(setting.values, ("network", "kappa", "scaling", "steps", "chains"))
    sizes = {key: in_order(setting.frame, key) for key in ("d", "width")}
    condition = Selection().only({key: [value] for key, value in setting.values.items()} | sizes).condition
    [(unmixed,)] = fetch(results, f"SELECT count(*) FROM cells WHERE {condition} AND NOT mixed")
    mixing = f", {unmixed} of which did not mix" if unmixed else ""
    about = f"N = {'' if ratio == 1 else f'{ratio:g} '}d; {fixed}; {networks}{mixing}, {n_seeds(setting.frame)} a point"
    return f"{about}. A_f = {ONSET:g}"


def collapse(results: str, sweep: str | None) -> Drawn | Missing:
    """Alignment over P on the left, over P / E on the right, E the bound at A_f = ONSET for each size: curves should coincide."""
    found = measured(results, sweep)
    if isinstance(found, Missing):
        return found
    setting, _, sql = found
    frame = setting.frame[setting.frame["P"] > 0]
    sizes = list(zip(frame["width"].astype(int), frame["d"].astype(int), strict=True))
    bound = {size: energy(ONSET, *size) for size in set(sizes)}
    frame = frame.assign(rescaled=frame["P"] / np.array([bound[size] for size in sizes]))
    panels = []
    for x, title in (("P", "P, training samples"), ("rescaled", f"P / E({ONSET:g})")):
        on_x = alt.X(f"{x}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12), axis=log_axis(frame[x]))
        on_y = alt.Y("mean:Q", title="alignment A_f")
        base = alt.Chart(frame)
        colour = colour_of(frame, "d")
        layers: list[Any] = [base.mark_line(strokeWidth=1.5).encode(x=on_x, y=on_y, color=colour)]
        layers.append(base.mark_rule(opacity=0.6).encode(x=on_x, y=alt.Y("low:Q"), y2="high:Q", color=colour))
        hover = ["d", "width", "P", alt.Tooltip("mean:Q", format=".3f"), "n:Q"]
        layers.append(base.mark_point(filled=True, size=40).encode(x=on_x, y=on_y, color=colour, tooltip=hover))
        panels.append(alt.layer(*layers).properties(width=330, height=280))
    chart = styled(alt.hconcat(*panels, spacing=24))
    return Drawn(chart, frame[["d", "width", "P", "rescaled", "n", "mean", "low", "high"]], f"{_about(results, setting)}.", sql)


def phases(results: str, sweep: str | None) -> Drawn | Missing:
    """Which pattern has the least energy over d and N, for both scalings of 2-layer erf networks: theory alone."""
    ds, widths = ([2**k for k in range(1, top)] for top in (11, 21))
    rows = []
    for name in ("2-layer erf, He_3", "2-layer erf, He_3, mean field"):
        assert name in NETWORKS
        rows += [{"network": name, "d": d, "N": n, "pattern": wins(name, {"d": d, "N": n})} for d in ds for n in widths]
    frame = pd.DataFrame(rows)
    colour = alt.Color("pattern:N", title="pattern", scale=alt.Scale(range=["#365c8d", "#e0a030", "#4ac16d"]))
    axes = {
        "x": alt.X("d:O", title="input dimension d", axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("N:O", title="width N", sort="descending"),
    }
    panels = []
    for name in dict.fromkeys(frame["network"]):
        of_network = alt.Chart(frame[frame["network"] == name]).mark_rect().encode(**axes, color=colour)
        panels.append(of_network.properties(width=260, height=260, title=name))
    caption = (
        "GP: the network stays lazy; GFL: all neurons amplify w* a little (Gaussian feature learning); specialisation: a few "
        "neurons turn to w*. Least energy, up to constants that the theory leaves open: borders are known up to factors of order "
        "one."
    )
    return Drawn(styled(alt.hconcat(*panels, spacing=24)), frame, caption)


_GRIDS = ("grids/nstar_he3.yaml", "grids/nstar_he3_quick.yaml")

EQUILIBRIUM_FIGURES = [
    Figure("Nstar", "Networks at equilibrium: the samples at which they begin to learn, P*(d), beside the bound's slope",
           "[Rubin25 App. B]", _GRIDS, p_star),
    Figure("Collapse", "Networks at equilibrium: alignment over P, and over P in units of the bound", "[Rubin25 App. B]", _GRIDS,
           collapse),
    Figure("Phases", "Patterns of feature learning: which has the least energy", "[Rubin25 S5, App. E]", (), phases),
]  # fmt: skip
