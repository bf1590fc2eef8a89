"""Counts of statements by paper, topic and verdict, and the shorter table of them that the README shows."""

from collections import Counter
from collections.abc import Iterable

from analysis.claims.board import Statement, statements_of, title
from analysis.claims.papers import rank
from analysis.claims.verdict import VERDICTS, Checked
from analysis.studies.loading import studies
from sweepkit.console.words import counted

MARKER = "<!-- verdicts -->"
"""Stands alone on two lines, with the summary between them."""


def summary(checked: Iterable[Checked], made: str) -> str:
    """A table of the number of statements by verdict, for each paper and each of its topics.

    Below it: one sentence for each paper, what weakens the confirmed ones, and `made`, a sentence that says when and from what.
    """
    statements = statements_of(checked)
    counts = Counter((one.paper, topic, one.verdict) for one in statements for topic in ("", one.topic))
    refuted = Counter((one.paper, topic) for one in statements for topic in ("", one.topic) if _in_part_refuted(one))
    papers = sorted({one.paper for one in statements}, key=lambda paper: (rank(paper), paper))
    lines = [f"| statements of | {' | '.join(VERDICTS)} |", "|---|" + "---:|" * len(VERDICTS)]
    for paper in papers:
        for topic in dict.fromkeys(topic for of, topic, _ in counts if of == paper):
            name = topic or f"**{title(paper).split(',')[0]}**"
            cells = {verdict: str(counts[paper, topic, verdict]) for verdict in VERDICTS}
            if n := refuted[paper, topic]:
                cells["in part"] += f" ({n} ✗)"
            lines.append(f"| {name} | {' | '.join(cells.values())} |")
    return "\n".join([*lines, "", *_came_out(papers), f"{weakened(statements)} {made}"])


def weakened(statements: Iterable[Statement]) -> str:
    """How many instances the statements have, and how many of those that hold, if only in part, carry which mark."""
    statements = list(statements)
    hold = [one for one in statements if one.verdict in ("confirmed", "in part")]
    marked = Counter(mark for one in hold for mark in one.marks)
    told = ", ".join(f"{n} {mark}" for mark, n in sorted(marked.items())) or "none is fitted or was set after a look"
    n, refuted = sum(len(one.claims) for one in statements), sum(map(_in_part_refuted, statements))
    parts = [f"{counted(len(statements), 'statement')} with {counted(n, 'instance')}."]
    parts += [f"✗: {refuted} in part have instances that are contradicted."] if refuted else []
    return " ".join([*parts, f"Of the {len(hold)} that hold at least in part: {told}."])


def _in_part_refuted(one: Statement) -> bool:
    return one.verdict == "in part" and one.counts["contradicted"] > 0


def _came_out(papers: Iterable[str]) -> list[str]:
    """Sentences, as a list: what came out for each paper."""
    found = [f"- {one.paper.split(',')[0]}: {one.came_out}" for one in studies() if one.tag in papers and one.came_out]
    return [*found, ""] if found else []


def by_paper(text: str) -> str:
    """The summary without the rows of topics, as the README shows it."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("| ") or line.startswith(("| statements", "| **")))


def summary_in(page: str, name: str) -> str:
    """The text between the two markers. ValueError if there are not two."""
    parts = page.split(f"{MARKER}\n")
    if len(parts) != 3:
        raise ValueError(f"{name} has not two lines {MARKER}, between which the summary stands")
    return parts[1].strip()


def with_summary(page: str, text: str, name: str) -> str:
    """The page with this text between its two markers. ValueError if there are not two."""
    summary_in(page, name)
    before, _, after = page.split(f"{MARKER}\n")
    return f"{before}{MARKER}\n{text}\n{MARKER}\n{after}"
