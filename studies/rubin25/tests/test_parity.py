"""The neuron that specialises on parity: its limits, and a sampled network."""

import numpy as np
import pytest
from sweepkit.studies.rubin25.theory.parity import specialised

from trainables.cell import cell_of
from trainables.engines.langevin.run import EquilibriumRun
from trainables.tasks import Parity2


def slope(low, high, d=24):
    """d log mu / d log(N/d) at P = 32 sqrt(N d)."""
    mu = [specialised(d, d * r, 32 * d * np.sqrt(r)).magnitude for r in (low, high)]
    return np.log(mu[1] / mu[0]) / np.log(high / low)


def test_the_magnitude_is_the_papers_power_where_networks_are_wide():
    """What is left out there is of order sqrt(d/N), as the noise's cost is of order d and the energy of order sqrt(N d)."""
    assert slope(1, 16) < slope(64, 256) < slope(1024, 4096) < 0.25
    assert slope(1024, 4096) == pytest.approx(0.25, abs=1024**-0.5 / 4)


def test_without_noise_overlap_and_readout_share_the_cost():
    """Of d = 1 nothing is noise: c = b at the peak, F solves P/(4 kappa) sigma(-F) sqrt(2 v/d) = 1, fluctuations are 1/c^2."""
    n_train, width = 40_000.0, 10_000.0
    found = specialised(1, width, n_train)
    scale = np.sqrt(2 / width)
    f = -np.log(1 / (1 - 4 / (n_train * scale)) - 1)
    assert found.answer == pytest.approx(f, rel=2 * scale / f)
    assert found.magnitude == pytest.approx(np.sqrt(f / scale), rel=2 * scale / f)


def test_few_examples_leave_neurons_as_they_are():
    with pytest.raises(ValueError, match="no neuron specialises"):
        specialised(24, 24, 50)


def test_a_sampled_network_has_neurons_of_that_magnitude():
    """Constants in f, left out, take up to a tenth of F and so 5% of mu; as much again is left to 30 samples of 2 chains."""
    task = Parity2(d=12, P=566)
    cell = cell_of(
        task,
        network="relu2",
        loss="cross_entropy",
        width=24,
        kappa=1.0,
        steps=60,
        eval_every=2,
        chains=2,
        test_size=64,
        seed=0,
        dtype="float32",
    )
    run = EquilibriumRun([cell])
    run.advance(np.inf)
    (result,) = run.results()
    assert result.magnitude[0] == pytest.approx(specialised(12, 24, 566).magnitude, rel=0.1)
    assert 3.5 < result.n_specialised[0] < 6  # four, and those of 20 that chance takes as far
