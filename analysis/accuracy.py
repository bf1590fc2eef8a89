"""Test accuracy of same-different networks against the number of training symbols, measured and by theory."""

from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table

from analysis.statistics import Interval, mean_interval
from analysis.theory.rich import test_accuracy
from store.views import run

RICH_LABEL = "1"
"""`gamma_label` of the networks that Eq. 3 speaks of."""

SETTINGS = ("steps", "batch", "eval_every", "test_size", "base_lr", "dtype", "prefactor", "science_version")
"""Everything else that sets cells of equal d, width, gamma and L apart, but for the seed."""

_QUERY = f"""
select d, width, gamma_label, L, list(best_test_acc order by seed), avg(final_test_acc), {", ".join(SETTINGS)}
from cells join plans using (cell_id)
where plans.sweep = ? and status = 'ok' and task = 'same_different' and sigma2 = 0
group by d, width, gamma, gamma_label, L, {", ".join(SETTINGS)}
order by d, width, gamma desc, {", ".join(SETTINGS)}, L
"""


class Point(NamedTuple):
    """Networks that differ only in their seed: accuracy at the best and (its mean) at the last evaluation."""

    d: int
    width: int
    gamma_label: str
    L: int
    best: Interval
    final: float
    setting: str = ""
    """What of SETTINGS varies among the points it comes with: `steps=25000 dtype=float64`; empty where nothing does."""

    @property
    def eq3(self) -> float:
        """What Eq. 3 says for this L, of rich networks."""
        return float(test_accuracy(self.L))

    @property
    def difference(self) -> float:
        """Measured best minus Eq. 3."""
        return self.best.mean - self.eq3


def accuracy_points(results: str, sweep: str) -> list[Point]:
    """Noiseless same-different networks of a sweep, a point for each group that differs in its seed only; may be empty."""
    rows = run(results, lambda connection: connection.execute(_QUERY, [sweep]).fetchall())
    settings = [dict(zip(SETTINGS, row[6:], strict=True)) for row in rows]
    varying = [name for name in SETTINGS if len({setting[name] for setting in settings}) > 1]
    return [
        Point(d, width, label, L, mean_interval(best), final, " ".join(f"{k}={_shown(setting[k])}" for k in varying))
        for (d, width, label, L, best, final, *_), setting in zip(rows, settings, strict=True)
    ]


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def settings_vary(points: list[Point]) -> bool:
    """Whether the points need their setting shown to be told apart."""
    return len({p.setting for p in points}) > 1


def eq3_table(points: list[Point]) -> Table:
    """Rich networks beside Eq. 3, for the terminal."""
    table = Table(
        box=SIMPLE_HEAD, title="Test accuracy at gamma = 1, mean over n seeds, beside Eq. 3 [Tong25]", title_justify="left"
    )
    setting = ("setting",) * settings_vary(points)
    for name in ("d", "width", *setting, "L", "n", "best", "95% interval", "last", "Eq. 3", "best-Eq.3"):
        table.add_column(name, justify="left" if name == "setting" else "right", no_wrap=True)
    for p in points:
        interval = f"{p.best.low:.3f} to {p.best.high:.3f}" if p.best.n > 1 else "one seed"
        numbers = (f"{p.best.mean:.3f}", interval, f"{p.final:.3f}", f"{p.eq3:.3f}", f"{p.difference:+.3f}")
        table.add_row(str(p.d), str(p.width), *(p.setting for _ in setting), str(p.L), str(p.best.n), *numbers)
    return table
