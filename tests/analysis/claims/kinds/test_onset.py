"""Claims on the onset of variance: what they say where there is nothing to measure, and whose ensemble counts as infinite."""

import pytest

from analysis.claims.kinds import KINDS
from analysis.claims.verdict import NotMeasured
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.metrics import requested_metric
from trainables.tasks import Hermite

OF = {"task": "hermite", "network": "tangent", "width": {"at_most": 32}}
WIDEST, KERNEL = {"task": "hermite", "network": "tangent", "width": 256}, {"task": "hermite", "network": "tangent_kernel"}
SIZES = (4, 8, 16, 32, 64)


def stored(folder, error, widths=(8, 16, 32), saved=True):
    """Two data sets of two networks each, whose outputs differ by twice the root of `error(width, P) - 0.1`."""
    store, lazy, rows, cells = Store(str(folder)), {"training": "ridge", "ridge": 1e-6}, [], []
    store.prepare()
    for P in SIZES:
        for data in range(2):
            task = Hermite(d=4, degree=2, P=P, data_seed=data)
            cells += [
                cell_of(task, network="tangent", width=m, seed=2 * data + s, **lazy) for m in (*widths, 256) for s in range(2)
            ]
            cells.append(cell_of(task, network="tangent_kernel", seed=0, **lazy))
    for cell in cells:
        found = 0.1 if cell.network.name == "tangent_kernel" else error(cell.width, cell.task.P)
        outputs = {"output": [(2 * (cell.seed % 2) - 1) * (found - 0.1) ** 0.5] * 4} if saved else {}
        empty = {"best_test_acc": None, "L": None, "d": None, "gamma": None, "gamma_label": None}
        rows.append(row(cell.cell_id, **{**empty, **cell.columns(), "test_mse": found, **outputs}))
    store.commit(
        "p", rows, [*{k.name: k for c in cells for k in c.declared().values()}.values(), requested_metric("output").metric]
    )
    return store.results


def excess(width, P):
    return 0.1 + 0.05 * (P / (2 * width**0.5)) ** 2


@pytest.mark.parametrize("infinite", [KERNEL, WIDEST], ids=["kernel", "ensemble of the widest"])
def test_the_exponent_is_that_of_the_errors(tmp_path, infinite):
    found = KINDS["onset_exponent"](stored(tmp_path, excess), of=OF, infinite=infinite, factor=1.5)
    # Onsets at 5.66, 8, 11.3 are read at 0.925, 1 and 0.925 of it, on lines between powers of 2; data sets are alike.
    assert found.interval[:3] == pytest.approx((0.5, 0.5, 0.5), abs=1e-3) and found.interval.n == 3
    assert "5.23 at 8, 8 at 16, 10.5 at 32" in found.what


def test_ensembles_without_an_onset_have_no_ratio(tmp_path):
    results = stored(tmp_path, excess)
    both = KINDS["onset_ratio"](results, of=OF, infinite=KERNEL, factor=1.5)
    assert isinstance(both, NotMeasured) and "no width has both P*" in both.why
    same = KINDS["onset_ratio"](results, of=OF, infinite=KERNEL, factor=1.5, over=OF, over_infinite=KERNEL)
    assert same.interval.value == pytest.approx(1) and "5.23 over 5.23 at width 8" in same.what


def test_nothing_to_measure_says_why(tmp_path):
    never = KINDS["onset_exponent"](stored(tmp_path / "a", lambda m, P: 0.1), of=OF, infinite=KERNEL, factor=1.5)
    assert isinstance(never, NotMeasured) and "at fewer than 3 widths: inf at 8" in never.why
    two = KINDS["onset_exponent"](stored(tmp_path / "b", excess, widths=(8, 16)), of=OF, infinite=KERNEL, factor=1.5)
    assert isinstance(two, NotMeasured) and "at fewer than 3 widths" in two.why
    bare = stored(tmp_path / "c", excess, saved=False)
    none = KINDS["onset_exponent"](bare, of=OF, infinite=KERNEL, factor=1.5)
    assert isinstance(none, NotMeasured) and "without outputs" in none.why
    other = KINDS["onset_ratio"](bare, of={"task": "square"}, infinite=KERNEL, factor=1.5)
    assert isinstance(other, NotMeasured) and "no finished networks" in other.why
