"""Each sweep's main result, how far it is, its verdicts, why networks failed, and what to look at next."""

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

import streamlit as st

from analysis.data.networks.failures import remedy
from analysis.data.progress.coverage import Live, Progress, Reason, in_common, live, progress, reasons
from analysis.data.progress.showing import NEEDS
from analysis.data.source import damaged, state
from app.controls import astray, check_link, choice, switch
from app.pages import MORE, PAGES
from app.pages_with_data import looking
from app.preload import importing
from app.shared import figure, links, remembered
from sweepkit.console.commands import command, sweep_command, where
from sweepkit.console.words import IN_PART, capital, counted, nearest

COLOURS = {
    "ok": "#277f8e", "diverged": "#d9a500", "failed": "#c2532d", "running": "#9fd3dc", "missing": "#e6e6e6",
}  # fmt: skip
WORDS = {"ok": "done", "diverged": "diverged", "failed": "failed", "running": "running", "missing": "not yet"}
N_OPEN = 3
"""Sweeps that are shown whole; the others, which finished earlier, are one line each until they are opened."""
N_LINES = 10
"""Most lines at first: fifty of them fill five screens of a phone."""


class _Place(NamedTuple):
    """The containers of those parts of a sweep that need pandas. They are filled after the text of all sweeps is there, the
    figures last."""

    sweep: str
    above: Any
    """Where the figures are named, above the chart."""
    chart: Any
    figures: Any
    verdicts: Any
    following: Any


def show(results: str) -> None:
    """The page."""
    # Which networks are being trained is read afresh each time (`remembered` says why): 0.4 s for 100,000 networks on busy cores.
    check_link("sweep", "find", "earlier", "there", "there_sweep", "there_x", "there_y")
    sweeps, why = _named_first(progress(results)), remembered(reasons, results)
    running = sum(sweep.running for sweep in sweeps)
    if len(sweeps) > N_OPEN:
        sweeps = _found(sweeps)
    _alive(running, live(results))
    for path, problem in remembered(damaged, results):
        st.warning(f"Not read: `{path}`, {problem}. `{command('store', 'check', *where(results))}` tells more.")
    places = [_whole(results, sweep, why.get(sweep.sweep, [])) for sweep in sweeps[:N_OPEN]]
    if older := sweeps[N_OPEN:]:
        st.subheader(counted(len(older), "earlier sweep"), anchor=False)
        lines, rest = st.container(gap="xsmall"), max(0, len(older) - N_LINES)
        every = rest > 0 and switch(f"Show the other {rest}", False, "earlier")
        with lines:
            lined = older if every else older[:N_LINES]
            places += [place for sweep in lined if (place := _folded(results, sweep, why.get(sweep.sweep, [])))]
    told, unfilled, below = st.container(), st.container(), st.container()
    known = looking(results).look(state(results))
    if known is not None:  # else the charts give it time: links that came and went would be a nuisance
        _link_on(places, known, unfilled)
    with importing:  # the text stands; charts need modules that take a second to import
        headlines: Any = import_module("app.parts.headlines")
    for place in places:
        with place.chart:
            headlines.chart(results, place.sweep)
    found, to_come = headlines.checked(results, may_start=not running)
    for place in places:
        with place.verdicts:
            headlines.verdicts(place.sweep, found, bool(to_come))
    if to_come:
        told.caption(f"{capital(to_come)}.")
    if known is None:
        _link_on(places, looking(results).look(state(results)), unfilled)
    with importing:
        papers: Any = import_module("app.parts.papers_figures")
    for place in places:
        with place.figures:  # while networks are trained, a figure would be drawn anew every few seconds
            papers.figures(results, place.sweep, place.above, opens=place is places[0] and not running)
    with below:
        if switch("Show which networks are there", False, "there"):
            _networks(results, [sweep.sweep for sweep in sweeps])


def _named_first(sweeps: list[Progress]) -> list[Progress]:
    """The sweeps, with the one that the link names before the others."""
    asked, names = st.query_params.get("sweep"), [sweep.sweep for sweep in sweeps]
    if asked and asked not in names:
        astray()["sweep"] = f"No sweep `{asked}` here{nearest(asked, names) or '.'}"
    return sorted(sweeps, key=lambda sweep: sweep.sweep != asked)


def _found(sweeps: list[Progress]) -> list[Progress]:
    """The sweeps with the words that a person looks for."""
    words = st.text_input(
        f"Find among {len(sweeps)} sweeps", key="find", bind="query-params", persist_state="session", width=400,
        placeholder="name, tag, note, or words of the grid",
    )  # fmt: skip
    found = [sweep for sweep in sweeps if sweep.has(words)]
    if not found:
        st.caption("No sweep has these words in its name, tags, note or grid.")
    return found


def _alive(running: int, processes: list[Live]) -> None:
    """Say what is being trained, or what a sweep waits for that trains nothing."""
    if running:
        st.caption(f"{running:,} network{'s are' if running > 1 else ' is'} being trained; this page follows by itself.")
    elif processes:
        who = processes[0]
        st.caption(f"A sweep ({who.description}) is at work but trains no network now: it waits for a worker, or plans. "
                   "This page follows by itself.")  # fmt: skip


def _whole(results: str, sweep: Progress, why: list[Reason]) -> _Place:
    """A sweep with all that is known of it."""
    with st.container(border=True):
        name, bar, when = st.columns([2, 6, 3], vertical_alignment="center")
        share = 100 * sweep.done / max(1, sweep.planned)
        name.markdown(f"**{_plain(sweep.sweep)}**  \n{share:.{0 if share in (0, 100) else 1}f}% of {sweep.planned:,}")
        bar.html(_bar(sweep))
        when.caption(_when(sweep))
        _about(sweep)
        return _parts(results, sweep, why)


def _about(sweep: Progress) -> None:
    """A sweep's tags and note, as they were typed."""
    if said := sweep.about():
        st.html(f'<p style="font-size:0.9rem;margin:0">{escape(said)}</p>')


def _folded(results: str, sweep: Progress, why: list[Reason]) -> _Place | None:
    """A line that opens; None while it is closed: what is in it is then neither asked for nor drawn."""
    share = 100 * sweep.done / max(1, sweep.planned)
    last = f", {sweep.last:%Y-%m-%d}" if sweep.last else ""
    bad = f", :red[{sweep.failed:,} failed]" if sweep.failed else ""
    label = f"**{_plain(sweep.sweep)}** {share:.0f}% of {sweep.planned:,}{bad}{last}"
    fold = st.expander(label, on_change="rerun", key=f"open_{sweep.sweep}")
    if not fold.open:
        return None
    with fold:
        st.html(_bar(sweep))
        _about(sweep)
        return _parts(results, sweep, why)


def _parts(results: str, sweep: Progress, why: list[Reason]) -> _Place:
    left, right = st.columns([6, 5])
    # Not `empty`, which takes away what it shows at each run until it is filled anew.
    above, chart = left.container(), left.container()
    with right:
        if sweep.in_part:
            st.caption(f"{capital(IN_PART)}.".replace("--", "\\-\\-"))
        if sweep.missing and not sweep.running:
            asked = command("run", *shlex.split(sweep.command)[2:], *where(results)) if sweep.command else ""
            again = f"`{asked}` again" if asked else f"`{sweep_command('GRID', results)}` with its grid"
            st.caption(f"{sweep.missing:,} not trained yet. {again} trains only those.")
        verdicts, following = st.container(), st.container()
    figures = st.container()
    if sweep.grid:
        with st.expander(f"The grid of {_plain(sweep.sweep)}", on_change="rerun", key=f"grid_{sweep.sweep}") as fold:
            if fold.open:
                st.code(sweep.grid, language="yaml")
    if why:
        n, kinds = sum(reason.n for reason in why), len(why)
        with st.expander(f"{n:,} of {_plain(sweep.sweep)} diverged or failed, for {counted(kinds, 'reason')}"):
            st.html(_table(why))
            common = remembered(in_common, results, sweep.sweep)
            for reason in why:
                if words := common.get((reason.status, reason.reason)):
                    st.html(f"<p>{reason.n:,} {escape(reason.status)} ({escape(reason.reason)}): {escape(words)}.</p>")
            for advice in dict.fromkeys(remedy(reason.status, reason.reason, results) for reason in why):
                st.markdown(advice)
            st.page_link(links["networks"], label="These networks", query_params={"sweep": sweep.sweep, "state": "not ok"})
    return _Place(sweep.sweep, above, chart, figures, verdicts, following)


def _link_on(places: list[_Place], known: Mapping[str, frozenset[str]] | None, unfilled: Any) -> None:
    """Links to the pages that have something to show for each sweep; in `unfilled`, one to the page of those that have nothing
    for any. `known`: the pages by sweep; None while that is not known."""
    for place in places:
        shows = NEEDS if known is None else known.get(place.sweep, ())
        names = [name for name in PAGES if name in shows or name == "networks"]
        with place.following.container(gap=None):
            st.caption("What to look at next")
            for name in names:
                label = f"**{PAGES[name][0]}** {PAGES[name][1][0].lower()}{PAGES[name][1][1:]}"
                st.page_link(links[name], label=label, query_params={"sweep": place.sweep})
    if known is not None and (lacking := frozenset(NEEDS).difference(*known.values())):
        titles = ", ".join(PAGES[name][0] for name in NEEDS if name in lacking)
        unfilled.page_link(links[MORE], label=f"Nothing yet for {titles}: which grids fill them")


def _plain(name: str) -> str:
    """A sweep's name without marks of Markdown."""
    return name.replace("*", "").replace("[", "").replace("]", "")


def _table(why: list[Reason]) -> str:
    """The reasons as HTML: Streamlit's own tables import pandas, which this page does without."""
    head = "".join(f"<th>{name}</th>" for name in ("networks", "status", "reason", "for example", "log"))
    rows = "".join(
        f"<tr><td>{r.n:,}</td><td>{escape(r.status)}</td><td>{escape(r.reason)}</td><td><code>{escape(r.cell_id)}</code></td>"
        f"<td><code>{escape(r.log_path or '')}</code></td></tr>"
        for r in why
    )
    look = "padding: 2px 14px 2px 0; text-align: left; font-size: 0.9rem; overflow-wrap: anywhere"
    style = f"<style>.reasons td, .reasons th {{{look}}}</style>"
    return f'{style}<table class="reasons"><tr>{head}</tr>{rows}</table>'


def _bar(sweep: Progress) -> str:
    counts = {name: getattr(sweep, name) for name in WORDS}
    parts = "".join(
        f'<div title="{n:,} {WORDS[name]}" style="width:{100 * n / max(1, sweep.planned):.3f}%;background:{COLOURS[name]}"></div>'
        for name, n in counts.items()
    )
    words = " &nbsp; ".join(
        f'<span style="color:{COLOURS[name]}">&#9632;</span> {n:,} {WORDS[name]}'
        for name, n in counts.items()
        if n or name == "ok"
    )
    return (
        f'<div role="img" aria-label="{escape(sweep.sweep)}: {sweep.done} of {sweep.planned}">'
        f'<div style="display:flex;height:14px;border-radius:4px;overflow:hidden;background:#eee">{parts}</div>'
        f'<div style="font-size:0.85rem;margin-top:4px">{words}</div></div>'
    )


def _when(sweep: Progress) -> str:
    if sweep.last is None:
        return "nothing finished yet"
    ago = (datetime.now(UTC).replace(tzinfo=None) - sweep.last).total_seconds()
    said = f"last finished {_span(ago)} ago" if 0 <= ago < 86400 else f"last finished {sweep.last:%Y-%m-%d %H:%M} UTC"
    if sweep.per_minute and sweep.running:
        left = (sweep.missing + sweep.running) / sweep.per_minute
        said += f"  \n{_rate(sweep.per_minute)} networks per minute, about {_span(60 * left)} to go"
    return said


def _rate(per_minute: float) -> str:
    return f"{per_minute:,.0f}" if per_minute >= 100 else f"{per_minute:.2g}"


def _span(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _networks(results: str, sweeps: list[str]) -> None:
    """Numbers of finished networks over two keys; only the grid knows which are still to come."""
    from analysis.charts.census import census, census_chart, keys_of, task_in
    from analysis.data.selection import Selection
    from analysis.data.source import declared

    columns = st.columns([2, 2, 2, 6])
    with columns[0]:
        selection = Selection(choice("Of sweep", sweeps, key="there_sweep"))
    keys = remembered(keys_of, results, selection)
    if len(keys) < 2:
        st.caption("Fewer than two parameters vary.")
        return
    with columns[1]:
        x = choice("Across", keys, keys[0], "there_x")
    others = [key for key in keys if key != x]
    with columns[2]:
        y = choice("Down", others, others[0], "there_y")
    task = remembered(task_in, results, selection)
    frame = remembered(census, results, selection, x, y)
    figure(census_chart(frame, x, y, task, remembered(declared, results)))
