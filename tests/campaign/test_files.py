"""That each harm to a file is one: a whole directory, harmed, and asked."""

import random
import shutil
from pathlib import Path

import pytest

from sweepkit.store.files import open_files
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from tests.campaign.faults.files import HARMS, harm
from tests.campaign.scene import Scene, Undisturbed
from tests.store_rows import rows


@pytest.mark.parametrize("how", HARMS)
def test_a_harmed_file_is_bad_or_gone(how, tmp_path: Path):
    scene = Scene(tmp_path, random.Random(how), Undisturbed(tmp_path, 1, 1), 1)
    for trial in range(10):
        shutil.rmtree(scene.results, ignore_errors=True)
        path = Path(scene.results, Store(str(scene.results)).commit("a", rows(trial, 3)))
        harm(scene, path, how)
        bad = check(open_files(str(scene.results))).bad
        assert list(bad) == ([] if how == "delete" else [f"packs/{path.name}"])
        assert path.exists() == (how != "delete")
        assert f"packs/{path.name}" in scene.destroyed
