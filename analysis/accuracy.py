"""Test accuracy of same-different networks against the number of training symbols, measured and by theory."""

from typing import NamedTuple

import duckdb
from rich.box import SIMPLE_HEAD
from rich.table import Table

from analysis.statistics import Interval, mean_interval
from analysis.theory.rich import test_accuracy

RICH_LABEL = "1"
"""`gamma_label` of the networks that Eq. 3 speaks of."""

_QUERY = """
select d, width, gamma_label, L, list(best_test_acc order by seed) as best, avg(final_test_acc) as final
from cells join plans using (cell_id)
where sweep = ? and status = 'ok' and task = 'same_different' and sigma2 = 0
group by d, width, gamma, gamma_label, steps, base_lr, batch, dtype, L
order by d, width, gamma desc, steps, base_lr, batch, dtype, L
"""


class Point(NamedTuple):
    """Networks that differ only in their seed: accuracy at the best and (its mean) at the last evaluation."""

    d: int
    width: int
    gamma_label: str
    L: int
    best: Interval
    final: float

    @property
    def eq3(self) -> float:
        """What Eq. 3 says for this L, of rich networks."""
        return float(test_accuracy(self.L))

    @property
    def difference(self) -> float:
        """Measured best minus Eq. 3."""
        return self.best.mean - self.eq3


def accuracy_points(connection: duckdb.DuckDBPyConnection, sweep: str) -> list[Point]:
    """Noiseless same-different networks of a sweep, one point a d, width, gamma and L; empty where the sweep has none."""
    rows = connection.execute(_QUERY, [sweep]).fetchall()
    return [Point(d, width, label, L, mean_interval(best), final) for d, width, label, L, best, final in rows]


def eq3_table(points: list[Point]) -> Table:
    """Rich networks beside Eq. 3, for the terminal."""
    table = Table(
        box=SIMPLE_HEAD, title="Test accuracy at gamma = 1, mean over n seeds, beside Eq. 3 [Tong25]", title_justify="left"
    )
    for name in ("d", "width", "L", "n", "best", "95% interval", "last", "Eq. 3", "best-Eq.3"):
        table.add_column(name, justify="right", no_wrap=True)
    for p in points:
        interval = f"{p.best.low:.3f} to {p.best.high:.3f}" if p.best.n > 1 else "one seed"
        numbers = (f"{p.best.mean:.3f}", interval, f"{p.final:.3f}", f"{p.eq3:.3f}", f"{p.difference:+.3f}")
        table.add_row(str(p.d), str(p.width), str(p.L), str(p.best.n), *numbers)
    return table
