"""The paper's statements, each with a verdict from the networks in the store."""

import pandas as pd
import streamlit as st

from analysis.claims.chart import COLOURS, claims_chart
from analysis.claims.check import advice, claims_frame
from analysis.claims.verdict import VERDICTS, Checked, Measured
from analysis.data.source import state
from app.following import following as _following
from app.shared import choice, downloads, figure
from stats.rounding import in_digits, with_interval

ALL = "(choose one)"
MARKS = dict(zip(VERDICTS, ("✓", "✗", "?", "–"), strict=True))


def show(results: str) -> None:
    """The page."""
    following = _following(results)
    found = following.look(state(results), wait_s=0.8)
    if found.error:
        st.error(f"The claims could not be checked: {found.error}")
    if not found.checked:
        st.info("Checking the claims; they appear as they come.")
        return
    if found.n_to_come:
        st.caption(f"Checking: {found.n_to_come} claims to come.")
    frame = claims_frame(found.checked)
    for column, verdict in zip(st.columns([1, 1, 1, 1, 2]), VERDICTS, strict=False):
        column.metric(f"{MARKS[verdict]} {verdict}", int((frame["verdict"] == verdict).sum()))
    one = choice("One claim", [ALL, *(claim.id for claim in following.claims)], key="claim", width=360)
    if one != ALL:
        checked = [c for c in found.checked if c.claim.id == one]
        _detail(checked[0], results) if checked else st.info(f"{one} is still to be checked.")
        return
    with st.container(horizontal=True):
        verdicts = _several("Verdict", list(VERDICTS), "verdict")
        topics = _several("Topic", list(dict.fromkeys(claim.topic for claim in following.claims)), "topic")
    kept = frame[frame["verdict"].isin(verdicts) & frame["topic"].isin(topics)]
    downloads("claims", kept)
    for topic, part in kept.groupby("topic", sort=False):
        st.subheader(str(topic), anchor=False)
        st.dataframe(_styled(part), hide_index=True, height="content", row_height=ROW, column_config=WIDTHS)
        chart = claims_chart([c for c in found.checked if c.claim.id in set(part["id"])])
        if chart is not None:
            with st.expander("Measured beside expected", expanded=True):
                figure(chart)
                downloads(f"claims-{topic}", part, chart)


ROW = 96
"""Height of a row in pixels: four to five lines of text, as most cells have at most."""
WIDTHS = {
    "verdict": st.column_config.TextColumn(width=140),
    "id": st.column_config.TextColumn(width=150),
    "says": st.column_config.TextColumn("statement", width=400),
    "measured": st.column_config.TextColumn("measured (95% interval)", width=180),
    "n": st.column_config.NumberColumn(width=50),
    "expected": st.column_config.TextColumn(width=100),
    "because": st.column_config.TextColumn("why this tolerance", width=330),
    "to run": st.column_config.TextColumn(width=170),
}


def _several(label: str, options: list[str], key: str) -> list[str]:
    """The chosen options; all of them if none is chosen."""
    return (
        list(st.pills(label, options, selection_mode="multi", key=key, bind="query-params", persist_state="session")) or options
    )


def _styled(part: pd.DataFrame) -> "pd.io.formats.style.Styler":
    numbers = part[["measured", "low", "high"]].astype(float).itertuples(index=False)
    intervals = ["" if pd.isna(measured) else in_digits(measured, low, high) for measured, low, high in numbers]
    to_run = part["grid"].where(part["verdict"] == "not enough data", "")
    table = part.assign(measured=intervals, verdict=part["verdict"].map(lambda v: f"{MARKS[v]} {v}"), **{"to run": to_run})
    table = table[["verdict", "id", "says", "measured", "n", "expected", "because", "source", "why", "note", "to run"]]
    return table.style.map(lambda text: f"color: {COLOURS[text[2:]]}; font-weight: 600", subset=["verdict"])


def _detail(one: Checked, results: str) -> None:
    claim = one.claim
    st.subheader(f"{MARKS[one.verdict]} {one.verdict}: {claim.says}", anchor=False)
    st.markdown(f"**{claim.topic}**, {claim.source}: {one.why.removesuffix('.')}.")
    if isinstance(one.measured, Measured):
        st.markdown(f"Measured: **{with_interval(one.measured.interval)}**: {one.measured.what}")
    if claim.note:
        st.info(claim.note)
    if claim.expected is not None:
        st.markdown(f"Expected: **{claim.expected}**. {claim.because}")
        st.markdown(f"From: `{claim.grid}`" if claim.grid else "Simulated here.")
    for command in advice(one, results):
        st.code(command, language="bash")
    if (chart := claims_chart([one])) is not None:
        figure(chart)
