"""Measured best test accuracy of rich networks beside Eq. 3, per L: the table at the end of a sweep."""

from typing import NamedTuple

import duckdb
from rich.box import SIMPLE_HEAD
from rich.table import Table

from analysis.statistics import Interval, mean_interval
from analysis.theory.rich import test_accuracy

_QUERY = """
select d, width, L, list(best_test_acc order by seed) as best, avg(final_test_acc) as final
from cells join plans using (cell_id)
where sweep = ? and status = 'ok' and task = 'same_different' and gamma = 1 and sigma2 = 0
group by d, width, L order by d, width, L
"""


class Eq3Row(NamedTuple):
    """One L: measured accuracy over seeds (best and last evaluation) and the theory's."""

    d: int
    width: int
    L: int
    best: Interval
    final: float
    theory: float

    @property
    def difference(self) -> float:
        """Measured best minus theory."""
        return self.best.mean - self.theory


def eq3_rows(connection: duckdb.DuckDBPyConnection, sweep: str) -> list[Eq3Row]:
    """Rich, noiseless same-different networks of a sweep, by d, width and L; empty where the sweep has none."""
    rows = connection.execute(_QUERY, [sweep]).fetchall()
    return [Eq3Row(d, m, L, mean_interval(best), final, float(test_accuracy(L))) for d, m, L, best, final in rows]


def eq3_table(rows: list[Eq3Row]) -> Table:
    """The rows as a table for the terminal."""
    table = Table(
        box=SIMPLE_HEAD, title="Test accuracy at gamma = 1, mean over n seeds, beside Eq. 3 [Tong25]", title_justify="left"
    )
    for name in ("d", "width", "L", "n", "best", "95% interval", "last", "Eq. 3", "best-Eq.3"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in rows:
        interval = f"{r.best.low:.3f} to {r.best.high:.3f}" if r.best.n > 1 else "one seed"
        numbers = (f"{r.best.mean:.3f}", interval, f"{r.final:.3f}", f"{r.theory:.3f}", f"{r.difference:+.3f}")
        table.add_row(str(r.d), str(r.width), str(r.L), str(r.best.n), *numbers)
    return table
