"""The page docs/verdicts.md: every statement of the papers by where it stands, with its verdict."""

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby

from analysis.claims.check import advice
from analysis.claims.entries import Claim
from analysis.claims.papers import OURS, PAPERS
from analysis.claims.published import finished
from analysis.claims.verdict import JUDGES, Checked, Measured
from analysis.claims.verdict_cache import said
from analysis.verdicts.summary import MARKER, summary
from sweepkit import FOLDER
from sweepkit.console.cache import digest
from sweepkit.console.escaping import escaped
from sweepkit.stats.rounding import in_digits
from sweepkit.store.provenance import brief, code_of
from sweepkit.store.views import fetch

_HEAD = """# Verdicts

Every quantitative statement of the papers with the verdict of the networks that were trained for it: a number, a law,
an ordering or an equality that networks or a calculation could contradict. `sweep verdicts` writes this
page from the networks in """
_OURS = "`evidence/`, whose README says how to add some; do not edit it.\n"
_LEGEND = """
**Confirmed**: the whole 95% interval lies where the statement expects it. **Contradicted**: all of it lies outside.
**Not enough data**: it reaches across the edge, or there is none; the commands beside it train what may decide.
**Not measured**: no engine or measure of this project decides the statement, for the reason given. **Fitted**: a number of
ours was chosen by the quantity judged, so that the verdict is weaker than it reads; the row says which. Tolerances and their
reasons stand in the files of claims, `studies/*/claims.yaml`.
"""

_SWEEPS = """
SELECT coalesce(sweep, '(no plan)'), count(*), strftime(min(finished_at), '%Y-%m-%d'), strftime(max(finished_at), '%Y-%m-%d'),
    list(DISTINCT coalesce(git_sha, '') ORDER BY coalesce(git_sha, ''))
FROM cells LEFT JOIN plans USING (cell_id) WHERE status = 'ok' GROUP BY ALL ORDER BY 1
"""


def page(checked: Sequence[Checked], results: str, today: date, is_ours: bool) -> tuple[str, str]:
    """The page in Markdown, and its summary. The claims were checked on `results`; `is_ours`: on evidence/."""
    ((n_networks,),) = fetch(results, "SELECT count(*) FROM cells WHERE status = 'ok'")
    made = f"{today:%Y-%m-%d}, code of commit {brief(code_of(FOLDER, *JUDGES)) or 'unknown'}, {n_networks:,} networks."
    short = summary(checked, made)
    lines = [
        _HEAD + (_OURS if is_ours else f"`{results}`.\n"),
        basis((one.claim for one in checked), results),
        MARKER,
        short,
        MARKER,
        _LEGEND,
    ]
    lines += _table({"sweep": "---", "networks": "---:", "trained": "---", "by the code of commit": "---"})
    for sweep, n, first, last, codes in fetch(results, _SWEEPS):
        days = first if first == last else f"{first} to {last}"
        lines.append(_row(sweep, f"{n:,}", days or "", ", ".join(dict.fromkeys(brief(code) or "unknown" for code in codes))))
    for paper in dict.fromkeys([*PAPERS, *(one.claim.paper for one in checked)]):
        lines += ["", "## " + ("Statements of this project" if paper == OURS else f"[{paper}] {PAPERS.get(paper, '')}".rstrip())]
        of_paper = sorted((one for one in checked if one.claim.paper == paper), key=lambda one: one.claim.place)
        for where, part in groupby(of_paper, key=lambda one: one.claim.place):
            lines += ["", f"### {where.heading}", ""]
            lines += _table(
                {"verdict": "---", "statement": "---", "measured (95% interval)": "---", "expected": "---", "n": "---:"}
            )
            # Networks for evidence/ are trained into the default directory and copied, as its README has it.
            lines += [_of_claim(one, "results" if is_ours else results) for one in part]
    return "\n".join(lines) + "\n", short


def basis(claims: Iterable[Claim], results: str) -> str:
    """A comment that changes with any claim's statement, measure or bounds, and with the networks of the store."""
    return f"<!-- claims and networks: {digest([], *sorted(map(said, claims)), *finished(results))} -->"


def _of_claim(one: Checked, trained_into: str) -> str:
    claim, measured = one.claim, one.measured
    statement = f"{escaped(claim.says)} ({escaped(claim.source.removeprefix(f'[{claim.paper}] '))}; `{claim.id}`)"
    n = str(measured.interval.n) if isinstance(measured, Measured) else ""
    verdict = f"**{one.verdict}**, **fitted**" if claim.fitted else f"**{one.verdict}**"
    return _row(verdict, statement, _told(one, trained_into), escaped(str(claim.expected or "")), n)


def _told(one: Checked, trained_into: str) -> str:
    """The value with its interval and what it is of; else the reason that there is none. What may decide an open claim."""
    parts = []
    if isinstance(one.measured, Measured):
        parts.append(f"{in_digits(*one.measured.interval[:3])}: {escaped(one.measured.what)}")
    if not isinstance(one.measured, Measured) or one.verdict == "not enough data":
        parts.append(escaped(one.why))
    # The last command is the longest, at the paper's length.
    parts += [f"run `{command}`" for command in advice(one, trained_into)[-1:]]
    if one.claim.fitted:
        parts.append(f"*Fitted: {escaped(one.claim.fitted)}*")
    if one.verdict in ("contradicted", "not enough data") and one.claim.note:
        parts.append(f"*{escaped(one.claim.note.strip())}*")
    return "<br>".join(parts)


def _table(columns: dict[str, str]) -> list[str]:
    """The head of a table whose columns have these names and alignments."""
    return [_row(*columns), f"|{'|'.join(columns.values())}|"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
