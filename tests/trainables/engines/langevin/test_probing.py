"""Metrics of richness at equilibrium: means over samples, beside formulas written out and a limit that is known."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import erf

from sweepkit.declarations.evaluations import PROBED
from trainables.engines.langevin.probing import SAMPLES, chosen, mean
from trainables.engines.langevin.run import EquilibriumRun
from trainables.metrics import base, metric_groups, requested_metric
from trainables.streams import stream, stream_owner
from trainables.tasks import Linear, Parity2, TokenPairs

NAMES = [name for name in metric_groups()["richness"].members if requested_metric(name).metric.had_by({"sampled": "yes"})]
NUMBERS = [name for name in NAMES if requested_metric(name).metric.per == "network"]


def watched(cell, names=NAMES):
    run = EquilibriumRun([cell])
    run.watch([names])
    return run


def measured(run, names=NAMES):
    run.advance(np.inf)
    values, failures = run.measured(0, names)
    assert not failures
    return values


def d_lr(features, outputs):
    """1 - f'Tf/(|T| f'f) for one output, T by the sample's covariance of p features [Nam26 Eq. 4]."""
    together = np.cov(features.T, outputs)
    with_f = together[:-1, -1]
    return 1 - with_f @ with_f / np.linalg.norm(together[:-1, :-1]) / together[-1, -1]


def test_they_are_the_means_over_samples_of_formulas_written_out(make_cell):
    cell = make_cell(d=4, P=30, width=7, kappa=0.3, steps=40, eval_every=1)
    names = ["d_lr", "d_lr_test", "participation"]
    run, by_hand = watched(cell, names), []
    (chains,) = run.chains
    target = cell.task.draw_symbols(stream(stream_owner(cell), "symbols"))
    fresh, _ = cell.task.test_examples(stream(stream_owner(cell), "richness", 1), target, PROBED)
    x, y = (part.numpy() for part in (chains.posterior.x, chains.posterior.readout.y))
    for k in range(40):
        run.advance(0)
        if k in (21, 24, 26, 29, 31, 34, 36, 39):  # the ends of the eighths of the second half
            for u in chains.u.numpy():
                phi, phi_fresh = (erf(inputs @ u.reshape(4, 7) / 2) for inputs in (x, fresh))
                a = phi.T / 7 @ np.linalg.solve(phi @ phi.T / 7 + 0.3 * np.eye(30), y)
                spread = np.linalg.eigvalsh(np.cov(erf(chains.x_test.numpy() @ u.reshape(4, 7) / 2).T))
                by_hand.append([d_lr(phi, phi @ a), d_lr(phi_fresh, phi_fresh @ a), spread.sum() ** 2 / (spread**2).sum()])
    found = measured(run, names)
    assert len(by_hand) == 4 * SAMPLES
    assert [found[name] for name in names] == pytest.approx(np.mean(by_hand, axis=0), rel=1e-9)


def test_a_wide_linear_network_is_lazy(make_cell):
    """Its kernel is x.x', so that f along one of d equal directions gives 1 - 1/sqrt(d), as sigma -> infinity in item 8 of
    studies/nam26/test_laziness.py."""
    names = ["d_lr_test", "participation"]
    cell = make_cell(task=Linear(d=4, P=64), network="linear2", width=400, test_size=4096, steps=8, eval_every=1)
    found = measured(watched(cell, names), names)
    # Weights of N neurons and n inputs move squares by a share of d/N + d/n = 0.014, and D by half of (1 - D) times that; seeds
    # move the one direction's share by sqrt(2/n) = 0.04 times (1 - D)/2 at most.
    assert found["d_lr_test"] == pytest.approx(1 - 1 / 4**0.5, abs=0.02)
    assert found["participation"] == pytest.approx(4, rel=0.03)


@pytest.mark.parametrize("more", [
    {"P": 5, "network": "relu2"}, {"P": 30, "network": "erf3", "width1": 6}, {"P": 0}, {"P": 1},
    {"task": Linear(d=6, P=20, patch=2), "network": "cnn"},
    {"task": TokenPairs(d=2, context=3, P=20), "network": "attention"},
    {"task": Parity2(d=3, P=9), "loss": "cross_entropy", "network": "relu2"},
])  # fmt: skip
def test_every_network_has_them(make_cell, more):
    found = measured(watched(make_cell(**more)))
    nothing_is_learned = more.get("P", 9) == 0  # f = 0
    for name in NUMBERS:
        low, high = (getattr(requested_metric(name).metric, bound) for bound in ("low", "high"))
        if found[name] is None:
            assert nothing_is_learned or more.get("P") == 1, name
        else:
            assert low - 1e-9 <= found[name] <= high + 1e-9, name
    assert (found["d_lr"] is None) == (more.get("P", 9) < 2)
    assert found["rho"][0] == 1 and found["d_eff_rho"] >= 1 and found["participation"] >= 1


def test_killed_and_resumed_they_are_the_same(make_cell):
    cell = make_cell(P=12)
    run = watched(cell)
    for _ in range(8):
        run.advance(0)
    kept = pickle.dumps(run.state())
    other = watched(cell)
    other.load(pickle.loads(kept))
    assert measured(other) == measured(run) == measured(watched(cell))


def test_they_change_no_other_number(make_cell):
    runs = watched(make_cell()), watched(make_cell(), [])
    for run in runs:
        run.advance(np.inf)
    first, second = ({k: v for k, v in run.results()[0].summary().items() if k != "seconds"} for run in runs)
    assert first == second and runs[1].measured(0, []) == ({}, {})


def test_one_that_fails_is_told_and_not_tried_again(make_cell, monkeypatch):
    tried = []

    def fails(probe):
        tried.append(probe)
        raise ValueError("no such thing")

    monkeypatch.setitem(base._REQUESTED, "d_lr", replace(requested_metric("d_lr"), measure=fails))
    run = watched(make_cell(), ["d_lr", "participation"])
    run.advance(np.inf)
    values, failures = run.measured(0, ["d_lr", "participation"])
    assert values["d_lr"] is None and values["participation"] > 1
    assert "no such thing" in failures["d_lr"] and len(tried) == 1


def test_what_is_of_training_alone_is_not_among_them():
    ours = {name for group in metric_groups().values() for name in group.members}  # other tests register metrics of their own
    lacking = {name for name in ours if not requested_metric(name).metric.had_by({"sampled": "yes"})}
    assert lacking == {
        "s_init", "theta_norm2", "curve_d_lr", "curve_d_eff",  # no initialisation, no readouts, no evaluations of one network
        "d_lr_proj", "d_lr_rank", "nc1", "nc1_regularised", "tr_sw",  # of several outputs
        "sharpness", "edge", "curve_sharpness", "curve_edge",  # no learning rate
        *metric_groups()["modes"].members,  # no evaluations of one network
        "curve_error_constant", "curve_error_quadratic", "curve_error_linear",  # of committees
    }  # fmt: skip


def test_a_value_at_each_evaluation_is_refused():
    with pytest.raises(ValueError, match="per evaluation is not measured at equilibrium"):
        base.metric("mine", per="evaluation", at_equilibrium=True)


@pytest.mark.parametrize(
    ("first", "end", "wanted"),
    [(4, 8, [4, 5, 6, 7]), (5, 6, [5]), (6, 6, []), (100, 200, [111, 124, 136, 149, 161, 174, 186, 199])],
)
def test_few_samples_spread_evenly_end_in_the_last(first, end, wanted):
    assert chosen(first, end) == wanted and len(wanted) == min(SAMPLES, end - first)


def test_the_mean_is_over_samples_that_have_it():
    assert mean([1.0, None, 3.0]) == 2 and mean([None, None]) is None and mean([]) is None
    assert mean([[1.0, 0.5], None, [1.0]]) == [1, 0.25]
