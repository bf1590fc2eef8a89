"""Pictures of the documentation: each that a page shows can be made anew, and a sweep that is there is not trained again."""

import re
from pathlib import Path

from benchmarks.pictures import FIGURES, PICTURES, SCREENS, is_done
from sweepkit.store.store import Store
from tests.store_rows import rows

ROOT = Path(__file__).parents[1]


def test_the_pictures_of_the_pages_are_those_that_can_be_made():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("studies/*/README.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+)\.png", page.read_text())}
    assert shown == {*FIGURES, *SCREENS} == {path.stem for path in PICTURES.iterdir()}


def test_a_sweep_is_done_once_all_that_it_planned_is_trained(tmp_path):
    store = Store(str(tmp_path / "results"))
    assert not is_done("eq3", store.results)
    store.commit("p", rows(0, 3))
    store.write_plan("eq3", [f"{i:020x}" for i in range(4)])
    assert not is_done("eq3", store.results)
    store.commit("q", rows(3, 4))
    assert is_done("eq3", store.results) and not is_done("other", store.results)
