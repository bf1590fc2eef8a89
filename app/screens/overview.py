"""How far each sweep is: planned networks by status, what is being trained, and failures grouped by reason."""

from datetime import UTC, datetime
from html import escape

import streamlit as st

from analysis.data.coverage import Progress, Reason, progress, reasons
from analysis.data.source import damaged
from app.shared import choice, figure, links, remembered, switch

COLOURS = {
    "ok": "#277f8e", "diverged": "#d9a500", "failed": "#c2532d", "running": "#9fd3dc", "missing": "#e6e6e6",
}  # fmt: skip
WORDS = {"ok": "done", "diverged": "diverged", "failed": "failed", "running": "running", "missing": "not yet"}


def show(results: str) -> None:
    """The page."""
    # Which networks are being trained is read afresh each time (`remembered` says why): 0.4 s for 100,000 networks on busy cores.
    sweeps, why = progress(results), remembered(reasons, results)
    running = sum(sweep.running for sweep in sweeps)
    if running:
        st.caption(f"{running:,} network{'s are' if running > 1 else ' is'} being trained; this page follows by itself.")
    for path, problem in remembered(damaged, results):
        st.warning(f"Not read: `{path}`, {problem}. `python -m orchestrator.store check` tells more.")
    for sweep in sweeps:
        _sweep(sweep, why.get(sweep.sweep, []))
    if switch("Show which networks are there", False, "there"):
        _networks(results, [sweep.sweep for sweep in sweeps])


def _sweep(sweep: Progress, why: list[Reason]) -> None:
    name, bar, when, link = st.columns([2, 6, 3, 1], vertical_alignment="center")
    share = 100 * sweep.done / max(1, sweep.planned)
    name.markdown(f"**{sweep.sweep.replace('*', '')}**  \n{share:.{0 if share in (0, 100) else 1}f}% of {sweep.planned:,}")
    bar.html(_bar(sweep))
    when.caption(_when(sweep))
    link.page_link(links["curves"], label="Curves", query_params={"sweep": sweep.sweep})
    if why:
        n, kinds = sum(reason.n for reason in why), len(why)
        with st.expander(f"{n:,} of {sweep.sweep} diverged or failed, for {kinds} reason{'s' * (kinds != 1)}"):
            st.html(_table(why))


def _table(why: list[Reason]) -> str:
    """The reasons as HTML: Streamlit's own tables import pandas, which this page does without."""
    head = "".join(f"<th>{name}</th>" for name in ("networks", "status", "reason", "for example", "log"))
    rows = "".join(
        f"<tr><td>{r.n:,}</td><td>{escape(r.status)}</td><td>{escape(r.reason)}</td><td><code>{escape(r.cell_id)}</code></td>"
        f"<td><code>{escape(r.log_path or '')}</code></td></tr>"
        for r in why
    )
    style = "<style>.reasons td, .reasons th {padding: 2px 14px 2px 0; text-align: left; font-size: 0.9rem}</style>"
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
        if n or name in ("ok", "missing")
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
    if sweep.per_minute:
        said += f"  \n{sweep.per_minute:.3g} a minute then"
        left = (sweep.missing + sweep.running) / sweep.per_minute
        if sweep.running and left:
            said += f", about {_span(60 * left)} to go"
    return said


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
        st.caption("Fewer than two keys vary.")
        return
    with columns[1]:
        x = choice("Across", keys, keys[0], "there_x")
    others = [key for key in keys if key != x]
    with columns[2]:
        y = choice("Down", others, others[0], "there_y")
    task = remembered(task_in, results, selection)
    frame = remembered(census, results, selection, x, y)
    figure(census_chart(frame, x, y, task, remembered(declared, results)))
