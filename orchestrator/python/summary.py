"""The end of a sweep as Python gets it."""

from collections import Counter
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from orchestrator.grid.load import Grid
from sweepkit.store.store import Store
from sweepkit.store.views import run as run_query

if TYPE_CHECKING:
    import pandas as pd

    from analysis import Results

STATUSES = ("ok", "diverged", "failed", "missing")
MOST_REASONS = 5
"""Most reasons of failure that the summary shows."""


@dataclass(frozen=True, repr=False)
class Summary:
    """The networks of a sweep after `run`: how many there are of each status, and the way to their results."""

    sweep: str
    location: str
    """The results directory or URI."""
    counts: dict[str, int]
    """The number of networks that are `ok`, `diverged`, `failed` or `missing`."""
    interrupted: bool
    facts: dict[str, Any] = field(compare=False)
    """The summary that `sweep run --json` prints; empty if the sweep was interrupted before there was one."""
    _cell_ids: frozenset[str] = field(compare=False)

    @classmethod
    def of(cls, grid: Grid, store: Store, facts: dict[str, Any], interrupted: bool) -> "Summary":
        """The summary of a sweep that has ended."""
        ids = [grid.cells[i].cell_id for i in grid.fixed]
        if facts:
            counts = {status: int(facts[status]) for status in STATUSES}
        else:
            held = store.statuses()
            found = Counter(held[one].status if one in held else "missing" for one in ids)
            counts = {status: found[status] for status in STATUSES}
        every = frozenset(planned.cell_id for planned in grid.cells)
        return cls(grid.sweep, store.results, counts, interrupted, facts, every)

    @property
    def results(self) -> "Results":
        """All results in the directory of this sweep, to look at."""
        from analysis import Results

        return Results(self.location)

    @property
    def table(self) -> "pd.DataFrame":
        """One row per configuration: the parameters that vary, `n`, and the mean of the main metric with its 95% interval."""
        return self.results.points(sweep=self.sweep)

    @property
    def failures(self) -> "pd.DataFrame":
        """One row per network that failed or diverged: `cell_id`, `status`, `reason`, the path of its `log`, its parameters."""
        import pandas as pd

        sql = "SELECT cell_id, status, reason, cells.* EXCLUDE (cell_id, status, reason) FROM cells WHERE status <> 'ok'"
        bad = run_query(self.location, lambda connection: connection.execute(sql).df())
        mine: pd.DataFrame = bad[bad["cell_id"].isin(self._cell_ids)]
        return mine.dropna(axis="columns", how="all").reset_index(drop=True)

    @property
    def thresholds(self) -> "pd.DataFrame":
        """One row per search of the grid: the threshold that it found, with its interval."""
        import pandas as pd

        return pd.DataFrame(self.facts.get("thresholds", []))

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        head, *more = self._lines()
        table = self.thresholds if self.facts.get("thresholds") else self.table.head(20) if self.counts["ok"] else None
        shown = "" if table is None else table.to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="")
        return f"<b>{escape(head)}</b>{''.join(f'<div>{escape(line)}</div>' for line in more)}{shown}"

    def _lines(self) -> list[str]:
        n = sum(self.counts.values())
        words = ", ".join(f"{count} {status}" for status, count in self.counts.items() if count)
        lines = [f"{self.sweep}: {n} network{'s' * (n != 1)}: {words}. Results: {self.location}"]
        if self.interrupted:
            lines.append("interrupted: run the same again, and it goes on from there")
        bad = self.failures if self.counts["failed"] or self.counts["diverged"] else None
        if bad is not None:
            reasons = Counter(zip(bad["status"], bad["reason"], strict=True)).most_common()
            lines += [f"  {count} {status}: {reason}" for (status, reason), count in reasons[:MOST_REASONS]]
            lines += [f"  and {len(reasons) - MOST_REASONS} other reasons: see .failures"] * (len(reasons) > MOST_REASONS)
        if self.counts["failed"]:
            lines.append("  retry_failed=True trains failed networks again")
        if self.facts.get("unmixed"):
            lines.append(f"  {self.facts['unmixed']} did not mix: their chains disagree (`r_hat`, `ess`), so take more steps")
        lines += [f"  {count} ok, but {reason}" for reason, count in self.facts.get("lacking", {}).items()]
        return lines
