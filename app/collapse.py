"""The part of the scaling page on collapse: curves over L for several d, say, over L / d^e."""

import streamlit as st

from analysis.points import Setting, in_order
from analysis.predictions import predicted
from analysis.rescaling import best, family, far, rescaled
from analysis.scaling_charts import collapse_chart
from app.choosing import interval_text, number
from app.shared import choice, downloads, figure, switch


def collapse(setting: Setting, over: str, against: str, by: str | None, title: str) -> None:
    """Which curves, which exponent, the curves before and after, and how well they collapse."""
    st.subheader(
        "Collapse", anchor=False, help="S near 1: the curves fall together within their errors [Houdayer & Hartmann 2004]"
    )
    data = setting.frame
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = "exponent"
        if by:
            value = choice("Curves of " + by.replace("_label", ""), in_order(data, by), key="collapse_of", width=170)
            data, key = data[data[by] == value], f"exponent_{value}"  # each group has its own prediction
        said = predicted(over, against, {str(key): data[key].iloc[0] for key in data})
        default = said.exponent if said else 1.0
        is_best = switch("Best exponent", False, "best")
        e = number("Exponent", -4.0, 6.0, default, 0.05, key, disabled=is_best)
    try:
        curves = family(data, over, against)
        if is_best:
            found = best(curves)
            e = found.exponent.value
            st.markdown(
                f"Best: **{against}^{interval_text(found.exponent)}** with S = {found.quality:.3g} over {found.n_points} points."
            )
            if found.quality > far(int(data["n"].min())):
                st.caption(
                    "S is far above what so many seeds leave by chance: the curves do not fall together within their errors. "
                    "The interval takes for granted that they do, and is too narrow."
                )
        scaled = rescaled(curves, e)
    except ValueError as error:
        st.info(f"No collapse: {error}.")
        return
    chart = collapse_chart(scaled, over, against, title)
    figure(chart)
    q, of_theory = scaled.quality, f", predicted {said}" if said else ""
    st.caption(
        f"S = {q.quality:.3g} over {q.n_points} points rescaled, {q.unscaled_quality:.3g} over {q.n_unscaled_points} as measured"
        f", of {q.n_total}; exponent {e:.3g}{of_theory}."
    )
    downloads(f"collapse-{over}-{against}", scaled.frame[[over, against, "rescaled", "n", "mean", "error"]], chart)
