"""The studies, laws and papers, as a gallery; and one of them whole: words, figures, statements, and what trains its networks."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from analysis.claims.board import Statement, board, statements_of, strips
from analysis.claims.check import advice
from analysis.claims.verdict import Checked
from analysis.data.progress.coverage import progress
from analysis.data.source import state
from analysis.figures.drawn import Drawn, Figure, Missing
from analysis.figures.registry import FIGURES, figures_of
from analysis.studies.declared import Declared
from analysis.studies.loading import studies
from analysis.studies.words import readme, run_command, sweeps_of
from app.controls import check_link
from app.downloads import downloads
from app.parts.scoreboard import counts_html, section_html
from app.shared import figure, remembered, remembered_with_theory
from app.styles import is_dark, is_narrow
from app.theory import compute_later
from app.verdicts import following
from sweepkit.console.words import counted, in_a_line
from sweepkit.studies import is_ours

STUDY = "study"
COLUMNS = 3


def show(results: str) -> None:
    """The page."""
    check_link(STUDY)
    every = sorted(studies(), key=lambda study: is_ours(study.name))  # one's own first
    found = following(results).look(state(results), wait_s=0.5)
    by_study: dict[str, list[Checked]] = {study.name: [] for study in every}
    for one in found.checked:
        by_study.get(one.claim.study, []).append(one)
    trained = remembered(_trained, results)
    if (name := st.query_params.get(STUDY)) is None:
        _gallery(every, by_study, trained, found.n_to_come > 0)
        return
    if st.button("All studies", icon=":material/arrow_back:"):
        del st.query_params[STUDY]
        st.rerun()
    chosen = next((study for study in every if study.name == name), None)
    if chosen is None:
        st.warning(f"No study is named `{name}`.")
        return
    _whole(results, chosen, by_study[chosen.name], trained, found.n_to_come > 0)


def _trained(results: str) -> dict[str, int]:
    """The number of finished networks of each sweep."""
    return {one.sweep: one.ok for one in progress(results)}


def standing(statements: Sequence[Statement]) -> str:
    """Where a study stands, in words: by the verdicts on those of its statements that are measured.

    >>> standing([])
    'not judged yet'
    """
    if not statements:
        return "not judged yet"
    verdicts = {one.verdict for one in statements} - {"not measured", "formulas lost", "needs files", "identity"}
    if verdicts & {"contradicted", "not reproduced", "in part"}:
        held = verdicts & {"confirmed", "in part"}
        return "holds in part" if held else "contradicted" if "contradicted" in verdicts else "not reproduced"
    if verdicts == {"confirmed"}:
        return "confirmed"
    if "confirmed" in verdicts:
        return "confirmed as far as measured"
    return "open" if verdicts else "not measured"


def _networks(study: Declared, trained: dict[str, int]) -> str:
    return counted(sum(trained.get(sweep, 0) for sweep in sweeps_of(study)), "network")


def _gallery(every: Sequence[Declared], by_study: dict[str, list[Checked]], trained: dict[str, int], so_far: bool) -> None:
    columns = st.columns(1 if is_narrow() else COLUMNS)
    for i, study in enumerate(every):
        checked = by_study[study.name]
        with columns[i % len(columns)].container(border=True):
            st.markdown(f"**{study.title}**  \n{study.shows}")
            statements = statements_of(checked)
            counts = counts_html(Counter(one.verdict for one in statements), is_dark(), so_far=so_far)
            st.html(f"{standing(statements)} {counts}")
            st.caption(f"{study.source}; {_networks(study, trained)}")
            if st.button("Open", key=f"open_{study.name}"):
                st.query_params[STUDY] = study.name
                st.rerun()


def _whole(results: str, study: Declared, checked: Sequence[Checked], trained: dict[str, int], so_far: bool) -> None:
    st.subheader(study.title, anchor=False)
    st.caption(f"{study.source}; study `{study.name}`; {_networks(study, trained)}; {standing(statements_of(checked))}")
    st.markdown(readme(study))
    for one in figures_of(study):
        st.subheader(one.title, anchor=False)
        _figure(results, one)
    if checked:
        st.subheader("Statements", anchor=False)
        commands = {one.claim.id: advice(one, results) for one in checked}
        at = strips(checked)
        for section in board(checked):
            st.html(section_html(section, at, commands, is_dark(), folded=is_narrow(), so_far=so_far))
    for full, says in (
        (False, "Train what is missing of its quick grid, judge and draw it:"),
        (True, "With more sizes and seeds:"),
    ):
        if len(study.grids) > full:
            st.caption(says)
            st.code(run_command(study, results, full), language="bash", wrap_lines=True)


def _figure(results: str, one: Figure) -> None:
    try:
        with st.spinner("Drawing the figure"):
            drawn = remembered_with_theory(_drawn, results, one.name)
    except Exception as error:  # noqa: BLE001 - a figure of a person's own; the rest of the page stands
        st.warning(f"Figure {one.name} could not be drawn: {in_a_line(error)}")
        return
    if isinstance(drawn, Missing):
        st.caption(f"Figure {one.name} cannot be drawn of these networks yet: {drawn.needs}.")
        return
    figure(drawn.chart, f"figure-{one.name}")
    st.caption(drawn.caption)
    compute_later(drawn.missing)
    downloads(one.name, drawn.frame, drawn.chart, drawn.sql)


def _drawn(results: str, name: str) -> Drawn | Missing:
    return FIGURES[name].draw(results, None)
