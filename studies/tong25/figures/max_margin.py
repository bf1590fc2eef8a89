"""Fig. C1 of [Tong25]: the matrix of Theorem 1, ideal and drawn, and its eigenvalues. Theory alone: it needs no store."""

import altair as alt
import numpy as np
import pandas as pd

from analysis.charts.curves import styled
from analysis.figures.drawn import Drawn, Figure

from ..theory.max_margin import empirical_matrix, empirical_spectrum, halves_cosine, ideal_matrix

SHOWN = 64
"""Side of the matrices as drawn: blocks of the 2d x 2d matrix are averaged to it."""
N_SYMBOLS, D, N_EXAMPLES = 64, 1024, 3000


def _heat(matrix: np.ndarray, title: str) -> alt.Chart:
    block = len(matrix) // SHOWN
    # Traces of the blocks: a mean over a block would hide a diagonal that is 1 in `block` of block^2 entries.
    means = np.trace(matrix.reshape(SHOWN, block, SHOWN, block), axis1=1, axis2=3) / block
    rows, columns = np.indices(means.shape)
    data = pd.DataFrame({"row": rows.ravel(), "column": columns.ravel(), "value": means.ravel()})
    scale = alt.Scale(scheme="redblue", domain=[-1.2, 1.2], domainMid=0, clamp=True, reverse=True)
    return (
        alt.Chart(data, title=title)
        .mark_rect()
        .encode(
            x=alt.X("column:O", axis=None), y=alt.Y("row:O", axis=None), color=alt.Color("value:Q", title="2d X", scale=scale),
            tooltip=["row", "column", alt.Tooltip("value:Q", format=".2f")],
        )
        .properties(width=230, height=230)
    )  # fmt: skip


def draw(results: str, sweep: str | None) -> Drawn:
    """The figure, which never lacks data: its examples are drawn at random, none comes from the store."""
    matrix = empirical_matrix(N_SYMBOLS, D, N_EXAMPLES, np.random.default_rng(0))
    spectrum = empirical_spectrum(N_SYMBOLS, D, N_EXAMPLES, np.random.default_rng(0))
    cosines, positive = halves_cosine(spectrum.vectors), spectrum.eigenvalues > 0
    data = pd.DataFrame({"rank": np.arange(len(cosines)), "eigenvalue": spectrum.eigenvalues, "cosine": cosines})
    shade = alt.Color("cosine:Q", title="cosine of halves", scale=alt.Scale(scheme="redblue", domain=[-1, 1], reverse=True))
    eigenvalues = (
        alt.Chart(data, title="Eigenvalues of the drawn matrix")
        .mark_point(filled=True, size=18, opacity=1)
        .encode(
            x=alt.X("rank:Q", title="rank"), y=alt.Y("eigenvalue:Q", title="eigenvalue of 2d X"), color=shade, tooltip=[*data]
        )
        .properties(width=260, height=230)
    )
    heats = alt.hconcat(_heat(ideal_matrix(D), "Ideal"), _heat(matrix, "Drawn")).resolve_scale(color="shared")
    chart = styled(alt.hconcat(heats, eigenvalues).resolve_scale(color="independent"))
    caption = (
        f"2d X of Theorem 1 for d = {D}; drawn: {N_EXAMPLES} examples of {N_SYMBOLS} symbols. Ideal eigenvalues are +1 "
        f"(parallel halves) and -1 (antiparallel), {D} each; {N_SYMBOLS} symbols span {len(data)} dimensions, where the drawn "
        f"ones spread about +-d/L = {D / N_SYMBOLS:g}. Cosine of the halves: {cosines[-1]:+.3f} for the largest eigenvalue, "
        f"{cosines[0]:+.3f} for the smallest; median {np.median(cosines[positive]):+.3f} over the positive and "
        f"{np.median(cosines[~positive]):+.3f} over the others."
    )
    return Drawn(chart, data, caption)


MAX_MARGIN_FIGURES = [Figure("C1", "The matrix of Theorem 1, ideal and drawn", "[Tong25 Fig. C1]", (), draw)]
