"""The report of a campaign: a row per kind of fault, counts that must be zero, and how to repeat the tries that were not."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tests.campaign.check import KINDS
from tests.campaign.trial import Verdict


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("fault", "tries", "amid", *KINDS, "seconds a try"):
        table.add_column(name, justify="left" if name == "fault" else "right")
    done = [verdict for verdict in verdicts if not verdict.skipped]
    for fault in sorted({verdict.fault for verdict in done}):
        table.add_row(*_row(fault, [verdict for verdict in done if verdict.fault == fault]))
    table.add_section()
    table.add_row(*_row("all", done))
    console.print(table)
    for fault, reason in sorted({(verdict.fault, verdict.skipped) for verdict in verdicts if verdict.skipped}):
        console.print(f"skipped: {fault}: {reason}", highlight=False, markup=False)


def _row(name: str, verdicts: Sequence[Verdict]) -> list[str]:
    counts = [sum(violation.kind == kind for verdict in verdicts for violation in verdict.violations) for kind in KINDS]
    mean = sum(verdict.seconds for verdict in verdicts) / max(1, len(verdicts))
    amid = sum(verdict.amid for verdict in verdicts)
    return [name, str(len(verdicts)), str(amid), *map(str, counts), f"{mean:.0f}"]


def show_violations(verdict: Verdict, seed: int, console: Console) -> None:
    """Print the faults of a try, where to look at them, and the command that tries it again."""
    head = f"{verdict.fault}, try {verdict.index}: {len(verdict.violations)} wrong, kept in {verdict.folder}"
    console.print(head, style="red", highlight=False)
    for violation in verdict.violations[:8]:
        console.print(f"  {violation.kind}: {violation.text}", highlight=False, markup=False, soft_wrap=True)
    if len(verdict.violations) > 8:
        console.print(f"  and {len(verdict.violations) - 8} more, in story.txt there", highlight=False)
    again = f"python -m tests.campaign --seed {seed} --index {verdict.index} --fault {verdict.fault} --keep"
    console.print(f"  again: {again}", highlight=False)
