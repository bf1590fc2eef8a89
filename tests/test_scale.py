"""The benchmark of scale runs: its user file, its sweep and its tables, on a few packs and without Ray."""

import pytest

from benchmarks import scale


def test_packs_that_train_nothing_are_in_the_store_once_each(tmp_path):
    grid, results = scale.write_grid(tmp_path, 1, None, 0.0), str(tmp_path / "results")
    run = scale.sweep(grid, results, "--debug")
    assert scale.check(results) == scale.PACKS_A_SEED * scale.PACK  # raises unless each cell is there once
    assert int(scale.by_pack(run, results)["packs"]) >= scale.PACKS_A_SEED
    next((tmp_path / "results" / "packs").iterdir()).unlink()
    with pytest.raises(RuntimeError, match="2000 cells planned"):
        scale.check(results)


@pytest.mark.alone
def test_the_whole_benchmark(tmp_path, capsys):
    scale.main([scale.PACKS_A_SEED], [], 0.0, str(tmp_path), debug=True)
    shown = capsys.readouterr().out
    assert "2,000 cells in packs" in shown and "2,000 cells compacted" in shown
    assert not list(tmp_path.iterdir())
