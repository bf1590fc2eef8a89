"""The scoreboard of page Claims as HTML: a line for each statement, which opens on a click without asking the server."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from analysis.charts.shown.screens import dark_colour
from analysis.claims.board import MARKS, Section, Statement, Strip
from analysis.claims.chart import COLOURS
from analysis.claims.verdict import Checked, Measured, Verdict, distance, marks
from sweepkit.console.escaping import as_html
from sweepkit.stats.rounding import in_digits, with_interval

RESTS_ON = "rests_on"
"""The name in the URL of the sweep whose networks a statement's verdict rests on. It has its own: a sweep chosen on another
page hides no verdict on page Claims."""
# Rows of one width: mark, statement, strip, numbers. On a phone, strip and numbers stand below the statement.
_STYLE = """<style>
.board details {border-bottom: 1px solid rgba(128,128,128,.22)}
.board details.section {border: 0; margin: 0}
.board details.section > summary {display: block; padding-top: .5rem}
.board details details details {margin-left: 1.7rem}
.board summary {display: grid; grid-template-columns: 1.4rem minmax(0,1fr) 8rem 13.5rem; gap: .2rem .8rem; padding: .38rem .2rem;
  cursor: pointer; align-items: center; list-style: none; font-size: .95rem; line-height: 1.35}
.board summary::-webkit-details-marker {display: none}
.board .arrow {display: inline-block; width: .7em; font-weight: 700; opacity: .7; transition: transform .12s}
.board details[open] > summary .arrow {transform: rotate(90deg)}
.board summary:hover {background: rgba(128,128,128,.1)}
.board .mark {font-weight: 700; text-align: center}
.board .numbers {font-size: .85rem; opacity: .85; font-variant-numeric: tabular-nums}
.board .strip {position: relative; height: 12px; background: rgba(128,128,128,.14); border-radius: 3px; overflow: hidden}
.board .strip i {position: absolute; display: block}
.board .more {padding: .2rem .4rem .9rem 2.2rem; font-size: .9rem; line-height: 1.5; overflow-wrap: anywhere}
.board .more p {margin: .25rem 0}
.board code {background: rgba(128,128,128,.16); padding: .05rem .3rem; border-radius: 3px; font-size: .85em}
.board .more .command {display: block; padding: .35rem .5rem; margin: .3rem 0; white-space: pre-wrap}
.board a {color: inherit; opacity: .75}
@media (max-width: 640px) {
  .board summary {grid-template-columns: 1.4rem minmax(0,1fr)}
  .board .strip, .board .numbers {grid-column: 2}
  .board .more {padding-left: .6rem}
  .board details details details {margin-left: .6rem}
}
</style>"""


_ARROW = '<span class="arrow">&#8250;</span> '
"""Tells that a line opens."""


def colours(dark: bool) -> dict[Verdict, str]:
    """The colour of each verdict on a light or a dark page."""
    return {name: dark_colour(COLOURS[name]) if dark else COLOURS[name] for name in MARKS}


UNSETTLED = "#8c8c8c"
"""The colour of counts that may still grow, on a light page and on a dark one."""


def counts_html(counts: "Counter[Verdict]", dark: bool, named: bool = False, so_far: bool = False) -> str:
    """Marks with their counts, such as `✓ 12 ✗ 3`; `named` adds the words for each mark. `so_far`: further claims are still to be
    checked, so that the counts are grey and say so."""
    shades = dict.fromkeys(MARKS, UNSETTLED) if so_far else colours(dark)
    parts = []
    for name, mark in MARKS.items():
        if counts[name]:
            words = f"<b>{mark}</b> {counts[name]}{f' {name}' if named else ''}"
            parts.append(f'<span style="color:{shades[name]};white-space:nowrap" title="{counts[name]} {name}">{words}</span>')
    if so_far and parts:
        parts.append(f'<span style="color:{UNSETTLED};white-space:nowrap">so far</span>')
    return " &nbsp; ".join(parts)


def section_html(
    section: Section,
    strips: Mapping[str, Strip],
    commands: Mapping[str, Sequence[str]],
    dark: bool,
    folded: bool = False,
    so_far: bool = False,
) -> str:
    """All lines of a section below its heading with counts; `folded`: they appear on a click. `commands`: by claim, what may
    decide it. `so_far`: whether further claims are still to be checked."""
    lines = "".join(_statement(one, strips, commands, dark, so_far) for one in section.statements)
    head = f"{_ARROW}<b>{escape(section.heading)}</b> &nbsp; {counts_html(section.counts, dark, so_far=so_far)}"
    start = f'<details class="section"{"" if folded else " open"}>'
    return f'{_STYLE}<div class="board">{start}<summary>{head}</summary>{lines}</details></div>'


def _statement(
    of: Statement, strips: Mapping[str, Strip], commands: Mapping[str, Sequence[str]], dark: bool, so_far: bool
) -> str:
    if len(of.claims) == 1:
        return _claim(of.claims[0], strips, commands, dark)
    shown = [(strips[one.claim.id], one.verdict) for one in of.claims if one.claim.id in strips]
    inner = "".join(_claim(one, strips, commands, dark) for one in of.claims)
    numbers = f"{len(of.claims)} instances: {counts_html(of.counts, dark, so_far=so_far)}{_marked(of.marks)}"
    return (
        f'<details><summary title="{of.verdict}"><span class="mark" style="color:{colours(dark)[of.verdict]}">{MARKS[of.verdict]}'
        f'</span><span>{_ARROW}{as_html(of.says)}</span>{_strip(shown, dark)}<span class="numbers">{numbers}</span></summary>'
        f"{inner}</details>"
    )


def _marked(marks: Iterable[str]) -> str:
    return "".join(f", {mark}" for mark in marks if mark != "identity")


def _claim(one: Checked, strips: Mapping[str, Strip], commands: Mapping[str, Sequence[str]], dark: bool) -> str:
    claim, stands = one.claim, one.verdict
    strip = [(strips[claim.id], stands)] if claim.id in strips else []
    numbers = _short(one)
    return (
        f'<details><summary title="{stands}"><span class="mark" style="color:{colours(dark)[stands]}">{MARKS[stands]}</span>'
        f'<span>{_ARROW}{as_html(claim.says)}</span>{_strip(strip, dark)}<span class="numbers">{numbers}</span></summary>'
        f'<div class="more">{"".join(f"<p>{text}</p>" for text in details(one, commands.get(claim.id, ())))}</div></details>'
    )


def _short(one: Checked) -> str:
    if not isinstance(one.measured, Measured):
        return escape(one.verdict)
    value, low, high = one.measured.interval[:3]
    told = f"{escape(in_digits(value, low, high).split(' (')[0])}, expected {escape(str(one.claim.expected))}"
    return f"{told}{_marked(marks(one.claim))}"


def details(one: Checked, commands: Sequence[str]) -> list[str]:
    """Paragraphs of HTML that say what is known of a claim."""
    claim, found = one.claim, []
    if isinstance(one.measured, Measured):
        found.append(f"Measured: <b>{escape(with_interval(one.measured.interval))}</b>. {as_html(one.measured.what)}.")
    if claim.expected is not None:
        off = distance(one)
        share = "" if off is None else f" The value lies {off:.0%} of the tolerance away."
        found.append(f"Expected: <b>{escape(str(claim.expected))}</b>. {as_html(claim.because)}{share}")
    found.append(f"<b>{one.verdict.capitalize()}</b>: {as_html(one.why.removesuffix('.'))}.")
    found += [f"<b>{mark.capitalize()}</b>: {as_html(words)}." for mark, words in marks(claim).items() if mark != one.verdict]
    if claim.note:
        found.append(f"Note: {as_html(claim.note)}")
    found += [f'To decide it: <code class="command">{escape(command)}</code>' for command in commands]
    origin = f"networks of <code>{escape(claim.grid)}</code>" if claim.grid else "needs no networks"
    link = f'<a href="?claim={escape(claim.id)}" target="_blank">{escape(claim.id)}</a>'
    found.append(f"{escape(claim.source)}; {claim.topic}; {origin}; link to this statement: {link}")
    return found


def _strip(shown: Sequence[tuple[Strip, Verdict]], dark: bool) -> str:
    """Intervals on a strip on which the region expected is green."""
    if not shown:
        return '<span class="strip" style="visibility:hidden"></span>'
    shades, marks = colours(dark), []
    left, right = shown[0][0].region
    marks.append(f'<i style="left:{left:.1f}%;width:{right - left:.1f}%;top:0;bottom:0;background:rgba(60,170,100,.3)"></i>')
    for strip, stands in shown:
        bar = f"left:{strip.low:.1f}%;width:{max(0.5, strip.high - strip.low):.1f}%;top:5px;height:2px"
        dot = f"left:calc({strip.at:.1f}% - 3px);width:6px;top:3px;height:6px;border-radius:3px"
        marks += [f'<i style="{place};background:{shades[stands]}"></i>' for place in (bar, dot)]
    said = "the 95% interval beside what is expected (green)"
    return f'<span class="strip" role="img" aria-label="{said}" title="{said}">{"".join(marks)}</span>'
