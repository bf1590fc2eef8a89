import numpy as np
import pytest

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.tasks import Template


@pytest.mark.parametrize("trained", [True, False])
def test_it_is_the_mean_size_over_heads_and_layers(trained):
    keys = {"embedding": 8, "heads": 2, "head_dim": 4, "width": 8, "steps": 20, "eval_every": 10, "test_size": 16}
    cell = cell_of(Template(template="aa/ab", P=8), seed=0, identity_qk=trained, **keys)
    run = ENGINES["stacked"].make([cell])
    run.advance(60)
    values, failures = run.measured(0, ["identity_qk_mean", "identity_vo_mean"])
    assert not failures and values["identity_vo_mean"] == 0
    theta = run.trainer.stacks[0].theta
    expected = np.mean([np.abs(theta[f"a{layer}"][0].numpy()) for layer in (1, 2)])
    assert values["identity_qk_mean"] == pytest.approx(expected, rel=1e-6)  # of float32 numbers
    assert (expected > 0) == trained
