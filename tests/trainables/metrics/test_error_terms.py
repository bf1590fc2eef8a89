"""The three terms of a committee's test error: their sum is the error on fresh examples, and each is of its own part."""

import numpy as np
import pytest
from sweepkit.studies.lazy_to_rich.theory import course

from trainables.cell import cell_of
from trainables.engines import ENGINES
from trainables.metrics.measuring import measured, probe_of
from trainables.streams import stream, stream_owner, training_probe
from trainables.tasks import Hermite, Square

TERMS = ["curve_error_constant", "curve_error_quadratic", "curve_error_linear"]


def trained(cell):
    run = ENGINES["stacked"].make([cell])
    run.watch([TERMS])
    run.advance(60)
    values, failures = measured(run, 0, TERMS)
    assert not failures
    return run, [values[name] for name in TERMS]


def committee(task, **keys):
    way = {"network": "committee", "training": "gd", "base_lr": 0.05, "eval_every": 20, "test_size": 100_000, "seed": 0}
    return cell_of(task, **({"width": 50, "steps": 60} | way | keys))


@pytest.mark.parametrize("gamma", [1.0, 0.25])
def test_their_sum_is_the_test_error_within_sampling(gamma):
    cell = committee(Square(d=8, P=40), curvature=0.5, gamma=gamma)
    run, terms = trained(cell)
    assert [len(values) for values in terms] == [3, 3, 3]
    probe = probe_of(run, 0)
    squared = (probe.outputs - probe.targets) ** 2
    error = squared.std() / np.sqrt(len(squared))
    assert sum(values[-1] for values in terms) == pytest.approx(squared.mean(), abs=4 * error)
    assert error < 0.02 * squared.mean()  # else the comparison would say little
    # The parts by themselves: mean of f - y, and its product with inputs, which only the linear part has.
    apart = probe.outputs - probe.targets
    linear = (apart[:, None] * probe.inputs).mean(0)
    assert terms[0][-1] == pytest.approx(apart.mean() ** 2, abs=8 * apart.std() / np.sqrt(len(apart)) * abs(apart.mean()))
    assert terms[2][-1] == pytest.approx((linear**2).sum(), rel=0.1)


def test_they_follow_the_dynamics_of_infinitely_many_neurons():
    """A committee of 4000 neurons starts with moments that are off by some sqrt(d/width)."""
    cell = committee(Square(d=4, P=24), width=4000, curvature=0.5, gamma=0.5, dtype="float64", test_size=8)
    _, terms = trained(cell)
    x, _ = training_probe(cell)
    target = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))
    found = course(x.astype(float), target.astype(float), 2.0, 0.5, 0.05, [20, 40, 60])
    for values, said in zip(terms, (found.constant, found.quadratic, found.linear), strict=True):
        assert values == pytest.approx(said, abs=0.01)
    assert np.abs(np.diff(found.quadratic)).min() > 0.03  # the largest term moves by more between evaluations


def test_other_targets_have_no_terms():
    run, terms = trained(committee(Hermite(d=4, P=12, degree=2), test_size=8))
    assert run.results()[0].status == "ok" and terms == [[None] * 3] * 3
