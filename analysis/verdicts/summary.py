"""Counts of verdicts by paper and topic, and the shorter table of them that the README shows."""

from collections import Counter
from collections.abc import Iterable

from analysis.claims.papers import PAPERS
from analysis.claims.verdict import VERDICTS, Checked

MARKER = "<!-- verdicts -->"
"""Stands alone on two lines, with the summary between them."""


def summary(checked: Iterable[Checked], made: str) -> str:
    """A table of the number of claims by verdict, for each paper and each of its topics; below it `made`, one sentence that says
    when and from what."""
    counts = Counter((one.claim.paper, topic, one.verdict) for one in checked for topic in ("", one.claim.topic))
    papers = dict.fromkeys([*PAPERS, *sorted(paper for paper, *_ in counts)])
    lines = [f"| statements of | {' | '.join(VERDICTS)} |", "|---|" + "---:|" * len(VERDICTS)]
    for paper in papers:
        for topic in dict.fromkeys(topic for of, topic, _ in counts if of == paper):
            name = topic or f"**{PAPERS.get(paper, paper).split(',')[0]}**"
            lines.append(f"| {name} | {' | '.join(str(counts[paper, topic, verdict]) for verdict in VERDICTS)} |")
    return "\n".join([*lines, "", made])


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
