"""The page docs/verdicts.md: every statement of the papers by where it stands, with its verdict."""

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby

from analysis.claims.board import Statement, instances, statements_of
from analysis.claims.check import advice
from analysis.claims.entries import Claim
from analysis.claims.papers import NAMES, PAPERS
from analysis.claims.published import finished
from analysis.claims.verdict import JUDGES, Checked, Measured, Verdict, distance, marks
from analysis.verdicts.summary import MARKER, summary
from sweepkit import FOLDER
from sweepkit.console.cache import digest
from sweepkit.console.escaping import escaped
from sweepkit.stats.rounding import with_bounds
from sweepkit.store.provenance import brief, code_of
from sweepkit.store.views import fetch

_HEAD = """# Verdicts

Every quantitative statement of the papers with the verdict of the networks that were trained for it: a number, a law,
an ordering or an equality that networks or a calculation could contradict. `sweep verdicts` writes this
page from the networks in """
_OURS = "`evidence/`, whose README says how to add some; do not edit it.\n"
_LEGEND = """
A statement is one entry of a file of claims, `studies/*/claims.yaml`, which has the tolerance and its reason; its instances,
for the values that it is tested at, stand below it. **Confirmed**: for each instance the whole 95% interval lies where the
statement expects it. **In part**: for some; the row says where. **Contradicted**: all of the interval lies outside, for some
instance, and none is confirmed. **Not reproduced**: so it does, and our setting differs from the source's in a way that may
be why. **Open**: it reaches across the edge, there is none, or it rests on fewer than 6 networks (10 where all accuracies are
equal); the command trains what may decide. *n* counts the networks, those of one setting where there are several. **Needs
files**: networks take files that only you can supply. **Formulas lost**: the text that we have lacks the formula. **Not
measured**: nothing here decides it, for the reason given. **Identity**: nothing but a mistake in code could have it
otherwise; it counts as no confirmation. Marks: **fitted**, a number of ours was chosen by the quantity judged; **after a
look**, a tolerance, level or reading was. *Of tolerance* is the distance from the stated value.
"""

_COLUMNS = {
    "verdict": "---", "statement": "---", "measured (95% interval)": "---", "expected": "---",
    "of tolerance": "---:", "n": "---:",
}  # fmt: skip
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
        heading = NAMES.get(paper) or f"[{paper}] {PAPERS.get(paper, '')}"
        lines += ["", f"## {heading.rstrip()}"]
        of_paper = sorted((one for one in checked if one.claim.paper == paper), key=lambda one: one.claim.place)
        for where, part in groupby(of_paper, key=lambda one: one.claim.place):
            lines += ["", f"### {where.heading}", ""]
            lines += _table(_COLUMNS)
            # Networks for evidence/ are trained into the default directory and copied, as its README has it.
            for statement in statements_of(part):
                lines += _of_statement(statement, "results" if is_ours else results)
    return "\n".join(lines) + "\n", short


def basis(claims: Iterable[Claim], results: str) -> str:
    """A comment that changes with any claim's statement, measure or bounds, and with the networks of the store."""
    return f"<!-- claims and networks: {digest([], *sorted(map(repr, claims)), *finished(results))} -->"


def _of_statement(statement: Statement, trained_into: str) -> list[str]:
    """The row of a statement, with one in small print for each of its instances, if it has several."""
    (first, *others) = statement.claims
    if not others:
        return [_of_claim(first, first.claim.says, trained_into)]
    source = first.claim.source.removeprefix(f"[{first.claim.paper}] ")
    words = f"{escaped(statement.says)} ({escaped(source)}; {len(others) + 1} instances)"
    shared = [words for words in _remarks(first) if all(words in _remarks(one) for one in others)]
    where = "<br>".join([escaped(statement.where), *shared] if statement.where else shared)
    head = _row(_verdict(statement.verdict, statement.marks), words, where, "", "", "")
    labels = instances([one.claim for one in statement.claims])
    return [head, *(_of_claim(one, labels[one.claim.id], trained_into, above=shared) for one in statement.claims)]


def _of_claim(one: Checked, words: str, trained_into: str, above: Sequence[str] | None = None) -> str:
    """The row of a claim; `above`: remarks that stand above it, if it is an instance."""
    claim, measured, small = one.claim, one.measured, above is not None
    source = "" if small else f"{escaped(claim.source.removeprefix(f'[{claim.paper}] '))}; "
    told = "<br>".join([*_told(one, trained_into), *(remark for remark in _remarks(one) if remark not in (above or ()))])
    cells = [_verdict(one.verdict, [*marks(claim)]), f"{escaped(words)} ({source}`{claim.id}`)", told]
    off = distance(one)
    n = str(measured.interval.n) if isinstance(measured, Measured) else ""
    cells += [escaped(str(claim.expected or "")), "" if off is None else f"{off:.0%}", n]
    return _row(*(f"<small>{cell}</small>" if small and cell else cell for cell in cells))


def _verdict(verdict: Verdict, marks: Sequence[str]) -> str:
    return ", ".join(f"**{word}**" for word in (verdict, *(mark for mark in marks if mark != verdict)))


def _told(one: Checked, trained_into: str) -> list[str]:
    """The value with its interval and what it is of; else the reason that there is none. What may decide an open claim."""
    parts = []
    if isinstance(one.measured, Measured):
        parts.append(f"{with_bounds(one.measured.interval)}: {escaped(one.measured.what)}")
    if not isinstance(one.measured, Measured) or one.verdict in ("open", "not reproduced"):
        parts.append(escaped(one.why))
    # The last command is the longest, at the paper's length.
    run = "then run" if one.verdict == "needs files" else "run"
    return parts + [f"{run} `{command}`" for command in advice(one, trained_into)[-1:]]


def _remarks(one: Checked) -> list[str]:
    """Remarks that weaken the verdict, and the note on one that is not as stated."""
    found = [f"*{mark.capitalize()}: {escaped(words)}*" for mark, words in marks(one.claim).items()]
    if one.verdict in ("contradicted", "not reproduced", "open") and one.claim.note:
        found.append(f"*{escaped(one.claim.note.strip())}*")
    return found


def _table(columns: dict[str, str]) -> list[str]:
    """The head of a table whose columns have these names and alignments."""
    return [_row(*columns), f"|{'|'.join(columns.values())}|"]


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
