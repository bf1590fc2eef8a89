"""A part of page Home that needs pandas and charts, which the page's text does without: each sweep's chart and verdicts."""

from collections import Counter

import streamlit as st

from analysis.claims.board import MARKS, statements_of
from analysis.claims.verdict import Checked
from analysis.data.selection import Selection
from analysis.data.source import ResultsError, state
from analysis.headline import headline
from app.controls import WHOLE
from app.parts.scoreboard import RESTS_ON
from app.shared import figure, links, remembered_with_theory
from app.verdicts import following
from sweepkit.console.words import counted

MOST_NAMED = 3
"""Most contradicted claims of a sweep that are named."""


def chart(results: str, sweep: str) -> None:
    """The chart of a sweep, with its caption."""
    try:
        found = remembered_with_theory(headline, results, Selection(sweep))
    except ResultsError as error:
        st.caption(f"No chart: {error}.")
        return
    if found is None:
        st.caption("No chart yet: it needs finished networks at two values of a parameter that is a number.")
        return
    figure(found.chart, f"headline-{sweep}")
    st.caption(found.caption)


def checked(results: str, may_start: bool) -> tuple[list[Checked], str]:
    """The verdicts known so far, and words about those to come; no words if all rest on the present networks. `may_start`:
    whether to check these networks now."""
    known, now = following(results), state(results)
    found = known.look(now if may_start else known.token)
    if found.n_to_come:
        return found.checked, f"of all statements {found.n_to_come} are still to be checked; their verdicts appear by themselves"
    if known.token == now:
        return found.checked, ""
    when = "in a moment" if may_start else "once no network is in training"
    return found.checked, f"the newest networks are judged {when}"


def verdicts(sweep: str, found: list[Checked], more_to_come: bool) -> None:
    """Counts of the verdicts that rest on a sweep's networks; the contradicted statements by name. `more_to_come`: whether some
    verdicts are not known yet."""
    statements = [of for of in statements_of(found) if any(sweep in one.sweeps for one in of.claims)]
    if not statements:
        if not more_to_come:
            st.caption("Verdicts: none yet. No statement from the papers can be checked with these networks.")
        return
    counts = Counter(one.verdict for one in statements)
    st.caption(
        f"Verdicts on {counted(len(statements), 'statement')} about this sweep's networks{' so far' if more_to_come else ''}"
    )
    with st.container(horizontal=True, gap="small"):
        for verdict, mark in MARKS.items():
            if counts[verdict]:
                query = {"verdict": verdict, RESTS_ON: sweep}
                label = f"{mark} {counts[verdict]} {verdict}"
                st.page_link(links["claims"], label=f":gray[{label}]" if more_to_come else label, query_params=query)
        st.page_link(links["claims"], label="Claims: all statements", query_params={RESTS_ON: WHOLE})
    for statement in [of for of in statements if of.counts["contradicted"]][:MOST_NAMED]:
        first = next(one for one in statement.claims if one.verdict == "contradicted")
        st.page_link(links["claims"], label=f"✗ {first.claim.says}", query_params={"claim": first.claim.id})
