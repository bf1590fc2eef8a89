"""A part of page Home that needs pandas and charts, which the page's text does without: each sweep's chart and verdicts."""

from collections import Counter

import streamlit as st

from analysis.claims.verdict import Checked
from analysis.data.selection import Selection
from analysis.data.source import ResultsError, state
from analysis.headline import headline
from app.following import following
from app.shared import figure, links, remembered

MARKS = {"confirmed": "✓", "contradicted": "✗", "not enough data": "?"}
MOST_NAMED = 3
"""Most contradicted claims of a sweep that are named."""


def chart(results: str, sweep: str) -> None:
    """The chart of a sweep, with its caption."""
    try:
        found = remembered(headline, results, Selection(sweep))
    except ResultsError as error:
        st.caption(f"No chart: {error}.")
        return
    if found is None:
        st.caption("No chart yet: no parameter that is a number has two values among its finished networks.")
        return
    figure(found.chart, f"headline-{sweep}")
    st.caption(found.caption)


def checked(results: str, may_start: bool) -> tuple[list[Checked], int]:
    """The verdicts known so far, and the number of claims to come. `may_start`: whether to check the store's present networks."""
    known = following(results)
    found = known.look(state(results) if may_start else known.token)
    return found.checked, found.n_to_come


def verdicts(sweep: str, found: list[Checked], n_to_come: int) -> None:
    """Counts of the verdicts that rest on a sweep's networks; the contradicted statements by name."""
    of_sweep = [one for one in found if sweep in one.sweeps]
    if not of_sweep:
        words = "being checked; they appear by themselves" if n_to_come else "no statement of a paper is about these networks"
        st.caption(f"Verdicts: {words}.")
        return
    counts = Counter(one.verdict for one in of_sweep)
    with st.container(horizontal=True, gap="small"):
        for verdict, mark in MARKS.items():
            if n := counts[verdict]:  # type: ignore[index]
                words = "open" if verdict == "not enough data" else verdict
                st.page_link(links["claims"], label=f"{mark} {n} {words}", query_params={"verdict": verdict})
    for one in [one for one in of_sweep if one.verdict == "contradicted"][:MOST_NAMED]:
        st.page_link(links["claims"], label=f"✗ {one.claim.says}", query_params={"claim": one.claim.id})
    if n_to_come:
        st.caption(f"{n_to_come} statements still to be checked.")
