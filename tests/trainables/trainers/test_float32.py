"""Rounding of lazy networks in literal float32, which benchmarks.float32 measures; scaled changes have none of it."""

import numpy as np
import pytest

from benchmarks.float32 import LAWS, WAYS, lazy, main
from trainables.trainers.run import PackRun


@pytest.mark.parametrize("initial", LAWS)
def test_literal_float32_loses_the_digits_of_lazy_networks(initial):
    cell = lazy(n_symbols=5, d=16, width=256, steps=200, seed=0, initial=initial)
    runs = {way: PackRun([cell], make([cell])) for way, make in WAYS.items()}
    for run in runs.values():
        run.advance(float("inf"))
    loss = {way: run.curves[0] for way, run in runs.items()}
    # Losses are of order 1. A step changes a weight by about one unit in its last place: measured .026.
    assert np.abs(loss["literal"] - loss["exact"]).max() > 1e-3
    # 200 roundings of relative size 6e-8 add up to 1e-5 at worst, as in test_trainers.py.
    np.testing.assert_allclose(loss["scaled"], loss["exact"], rtol=0, atol=2e-5)


def test_the_command_prints_a_row_for_each_number_of_symbols_and_law(capsys):
    main(["--L", "3", "5", "--d", "8", "--width", "16", "--steps", "25", "--seeds", "1"])
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if "truncated" in line or "normal" in line]
    assert rows == [["3", "normal"], ["3", "truncated"], ["5", "normal"], ["5", "truncated"]]
    with pytest.raises(SystemExit):
        main(["--steps", "26"])
    assert "multiple of 25" in capsys.readouterr().err
