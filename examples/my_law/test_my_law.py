"""The theory beside something independent of it."""

from pathlib import Path

import numpy as np
import pytest

from analysis import Study

STUDY = Study.load(Path(__file__).parent)


@pytest.mark.parametrize("P", [4, 16])
def test_it_is_what_is_left_of_a_target_outside_the_span_of_examples(P):
    rng, d, left = np.random.default_rng(0), 24, []
    for _ in range(400):
        x, w = rng.standard_normal((P, d)), np.eye(d)[0]
        u = np.linalg.lstsq(x, x @ w, rcond=None)[0]
        left.append(((w - u) ** 2).sum())
    assert np.mean(left) == pytest.approx(
        STUDY.theory.error(d, P), abs=4 * np.std(left) / 20
    )
