"""Which pages have something to show for a sweep."""

import pytest

from analysis.data.progress.showing import NEEDS, newest_of, showing
from app.pages import PAGES
from sweepkit.store.store import Store
from tests.rich_rows import RICH, rich
from tests.store_rows import row

COMMON = {"structure"}
LAW = [{"L": L, "d": d} for d in (8, 16) for L in (3, 4)]
NO_ACCURACY = {"best_test_acc": None, "test_mse": 0.5, "width": 64}


@pytest.mark.parametrize(
    ("cells", "pages"),
    [
        ([{"L": 3}, {"L": 3}], COMMON),
        ([{"L": 3}, {"L": 4}], COMMON | {"curves"}),
        ([{"L": 3, "d": 8}, {"L": 4, "d": 16}], COMMON | {"curves", "dimension"}),  # no two L at one d
        (LAW[:3], COMMON | {"curves", "dimension"}),
        (LAW, COMMON | {"curves", "dimension", "scaling"}),
        ([one | {"width": 2 * one["d"]} for one in LAW], COMMON | {"curves", "dimension", "scaling"}),
        ([one | {"steps": 100 * one["d"], "gamma": 0.1, "gamma_label": "0.1"} for one in LAW], COMMON | {"curves", "dimension"}),
        ([one | {"gamma": 1e-5 / one["d"], "gamma_label": "lazy"} for one in LAW], COMMON | {"curves", "dimension", "scaling"}),
        # Thresholds against a learning rate are no law of scaling.
        ([{"L": L, "d": 8, "base_lr": rate} for L in (3, 4) for rate in (0.1, 0.2)], COMMON | {"curves"}),
        # Thresholds against the seed of the data are no law.
        ([{"L": L, "d": 8, "data_seed": draw} for L in (3, 4) for draw in (1, 2)], COMMON | {"curves"}),
        # Page Scaling opens on accuracies, which most of these networks have.
        ([*({"L": 3, "d": 8 * i} for i in range(1, 10)), *(one | NO_ACCURACY for one in LAW)], COMMON | {"curves", "dimension"}),
        ([one | NO_ACCURACY for one in LAW], COMMON | {"curves", "dimension", "scaling"}),
        ([{"L": 3, "sigma2": 1.0}, {"L": 4, "sigma2": 1.0}], COMMON | {"curves", "noise"}),
        ([{"L": 3, "sigma2": 0.0}, {"L": 4, "sigma2": 1.0}], COMMON | {"curves"}),  # one L at each noise; only one sigma2 above 0
        ([{"L": 3, "d": 8, "status": "failed"}, {"L": 4, "d": 16, "status": "diverged"}], set()),
        ([{"task": "he3", "L": None, "chains": 4, "kappa": 1.0, "training": "langevin"}], COMMON | {"specialisation"}),
        ([{"task": "template", "L": None, "P": P} for P in (4, 8)], COMMON | {"curves", "relations"}),
        ([{"L": 3, **rich(0.5)}], COMMON | {"richness"}),
        ([{"L": 3, **rich(0.5), "status": "diverged"}, {"L": 3}], COMMON),
    ],
)
def test_pages_by_what_varies_among_finished_networks(tmp_path, cells, pages):
    store = Store(str(tmp_path))
    found = [row(i, **cell) for i, cell in enumerate(cells)]
    store.commit("p", found, RICH)
    store.write_plan("one", [cell["cell_id"] for cell in found], whole=True)
    assert showing(str(tmp_path)) == {"one": frozenset(pages)}
    assert pages <= NEEDS.keys() <= PAGES.keys()


def test_the_newest_sweep_with_something_to_show(tmp_path):
    store = Store(str(tmp_path))
    by_sweep = {"a-old": [(0, 3), (1, 4)], "b-new": [(2, 3), (3, 4)], "c-newest": [(4, 3), (5, 3)]}
    store.commit("p", [row(cell, minute=cell, L=L, seed=cell, d=8) for cells in by_sweep.values() for cell, L in cells])
    for name, cells in by_sweep.items():
        store.write_plan(name, [f"{cell:020x}" for cell, _ in cells], whole=True)
    assert newest_of(str(tmp_path), "curves") == "b-new" and newest_of(str(tmp_path), "scaling") is None
    assert newest_of(str(tmp_path)) == "c-newest"
