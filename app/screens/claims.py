"""The papers' statements as a scoreboard: each with its verdict from the networks in the store, details on a click."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import streamlit as st

from analysis.claims.background_check import Following
from analysis.claims.board import MARKS, board, by_command, found_in, has_data, statements_of, strips
from analysis.claims.chart import claims_chart
from analysis.claims.check import advice, claims_frame
from analysis.claims.papers import FIELD, OURS, PAPERS
from analysis.claims.verdict import Checked
from analysis.data.source import state
from analysis.python_lines import call_lines
from app.controls import WHOLE, check_link, choice
from app.downloads import downloads, may_run_again
from app.parts.scoreboard import RESTS_ON, counts_html, details, section_html
from app.shared import figure
from app.styles import is_dark, is_narrow
from app.verdicts import following as _following
from sweepkit.console.words import duration

ALL = "(all papers)"
SOON_S = 1.0
"""How often the page looks for new verdicts while claims are being checked."""
HELP = (
    "Confirmed: the whole 95% interval lies where the statement expects it. In part: for some of its instances. Contradicted: "
    "all of it lies outside. Not reproduced: so it does, and our setting differs from the source's. Open: it reaches across the "
    "edge, and more seeds would decide, or there are no networks yet. Identity: nothing but a mistake in code could have it "
    "otherwise. Fitted: a number of ours was chosen by the quantity judged. After a look: a tolerance, level or reading was."
)


def show(results: str) -> None:
    """The page."""
    check_link("claim", "verdict", "paper", RESTS_ON, "words")
    following = _following(results)
    found = following.look(state(results), wait_s=0.5)
    if found.error:
        st.error(f"The claims could not be checked: {found.error}")
    if found.n_to_come and not found.error:
        _soon(following, following.n_done)
    if not found.checked:
        return
    if (one := st.query_params.get("claim")) is not None:
        _one(one, found.checked, following, results)
        return
    so_far = found.n_to_come > 0
    kept, scored = _filtered(found.checked, so_far)
    commands = {one.claim.id: advice(one, results) for one in kept}
    _board(scored, commands, so_far)
    if scored:
        downloads("claims", claims_frame(kept), claims_chart(scored), python=call_lines(results, "claims", {}))
    else:
        st.info("No statement fits this choice.")
    on_board = {one.claim.id for one in scored}
    _folded([one for one in kept if one.claim.id not in on_board], commands)


@st.fragment(run_every=SOON_S)
def _soon(following: Following, n_shown: int) -> None:
    """Say how far the check is, and run the page again when there are more verdicts."""
    if following.n_done > n_shown and may_run_again():
        st.rerun()
    n, left = len(following.claims), len(following.to_come)
    told = f"{n - left} of {n} checked, {left} instances to come, those with networks first; "
    if len(following.known) == n and left:
        now = " Until then the verdicts of an earlier check stand here."
    else:
        now = "" if left < n else " The first verdicts take up to a minute."
    st.progress((n - left) / n, text=f"{told}{duration(following.took_s)} so far.{now}")


def _filtered(checked: Sequence[Checked], so_far: bool) -> tuple[list[Checked], list[Checked]]:
    """The claims of statements of the chosen paper and sweep that hold the text, and of those with a chosen verdict; at first,
    of all that some networks say something about. `so_far`: whether others are still to be checked."""
    counts = st.empty()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen: Any = st.pills(
            "Verdict", list(MARKS), selection_mode="multi", key="verdict", bind="query-params", persist_state="session",
            help=HELP,
        )  # fmt: skip
        there = {one.claim.paper for one in checked}
        papers = [paper for paper in (*PAPERS, FIELD, OURS) if paper in there]
        paper = choice("Paper", [ALL, *papers], ALL, key="paper", width=190)
        sweeps = sorted({sweep for one in checked for sweep in one.sweeps})
        sweep = choice("About networks of", [WHOLE, *sweeps], WHOLE, key=RESTS_ON, width=190)
        text = st.text_input("With the words", key="words", bind="query-params", persist_state="session", width=200)
    # A statement is kept whole: its verdict is that of all its instances.
    fits = [of for of in statements_of(checked) if any(sweep in (WHOLE, *one.sweeps) for one in of.claims)]
    told = counts_html(Counter(of.verdict for of in fits), is_dark(), named=True, so_far=so_far)
    counts.html(f'<span style="font-size:1.25rem">{told}</span>')
    kept = [of for of in fits if paper in (ALL, of.paper) and any(found_in(one, text) for one in of.claims)]
    scored = [of for of in kept if (of.verdict in chosen if chosen else any(map(has_data, of.claims)))]
    return [one for of in kept for one in of.claims], [one for of in scored for one in of.claims]


def _board(scored: Sequence[Checked], commands: dict[str, list[str]], so_far: bool) -> None:
    dark, at = is_dark(), strips(scored)
    for _, sections in groupby(board(scored), key=lambda section: section.paper):
        parts = list(sections)
        st.subheader(parts[0].title, anchor=False)
        for section in parts:
            st.html(section_html(section, at, commands, dark, folded=is_narrow(), so_far=so_far))


def _folded(left: Sequence[Checked], commands: dict[str, list[str]]) -> None:
    """The claims that are not on the board, by the grid that yields their networks, or why none does."""
    dark = is_dark()
    without = [one for one in left if one.verdict in ("open", "needs files") and not has_data(one)]
    if without:
        with st.expander(f"{len(without)} statements have no networks here yet: which grids train them"):
            first = {one.claim.id: next(iter(commands[one.claim.id]), "") for one in without}
            for command, part in by_command(without, first):
                if command:
                    st.code(command, language="bash", wrap_lines=True)
                for section in board(part):
                    st.html(section_html(section, {}, commands, dark))
    unmeasured = [one for one in left if one.verdict in ("not measured", "formulas lost")]
    if unmeasured:
        with st.expander(f"{len(unmeasured)} statements are not measured: why not"):
            for section in board(unmeasured):
                st.html(section_html(section, {}, {}, dark))


def _one(name: str, checked: Sequence[Checked], following: Following, results: str) -> None:
    """One claim, as a link names it."""
    if st.button("All statements", icon=":material/arrow_back:"):
        del st.query_params["claim"]
        st.rerun()
    one = next((one for one in checked if one.claim.id == name), None)
    if one is None:
        known = any(claim.id == name for claim in following.claims)
        st.info(f"{name} is still to be checked.") if known else st.warning(f"No statement is named `{name}`.")
        return
    st.subheader(f"{MARKS[one.verdict]} {one.verdict}: {one.claim.says}", anchor=False)
    st.html("".join(f"<p>{text}</p>" for text in details(one, ())))
    for command in advice(one, results):
        st.code(command, language="bash", wrap_lines=True)
    if (chart := claims_chart([one])) is not None:
        figure(chart)
        lines = call_lines(results, "claims", {})
        downloads(f"claim-{name}", claims_frame([one]), chart, python=f'{lines}.query("id == {name!r}")')
