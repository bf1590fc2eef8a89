"""The metrics of richness on networks that were trained here, whatever trained them."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from sweepkit.declarations.evaluations import PROBED
from sweepkit.store.views import fetch
from trainables.cell import cell_of
from trainables.engines import descent_engine
from trainables.metrics import Probe, base, metric_groups, requested_metric
from trainables.metrics.base import MOST, Probed, metric
from trainables.metrics.measuring import measured, probe_of
from trainables.richness import alignment
from trainables.streams import probe_set, stream_owner
from trainables.tasks import Clusters, SameDifferent
from trainables.trainers.run import PackRun

NAMES = metric_groups()["richness"].members
CLASSES_ALONE = ("d_lr_proj", "d_lr_rank", "nc1", "nc1_regularised", "tr_sw")
TASK = SameDifferent(L=5, d=16)


def trained(cells, engine="gram"):
    run = PackRun(cells, descent_engine(engine).trainer(cells))
    while not run.done:
        run.advance(0.0)
    return run


def values(run, c=0):
    found, failures = measured(run, c, NAMES)
    assert not failures
    return found


def a_cell(**more):
    return cell_of(TASK, **({"width": 24, "gamma": 1.0, "seed": 3, "steps": 60, "eval_every": 30, "base_lr": 0.3} | more))


def test_the_published_anchors_of_same_different():
    cells = [
        cell_of(SameDifferent(L=8, d=16), width=128, gamma=gamma, seed=seed, steps=3000, eval_every=3000)
        for gamma in (1.0, 1e-5 / 4)
        for seed in range(2)
    ]
    run = trained(cells)
    found = [values(run, c) for c in range(4)]
    assert np.mean([one["d_lr"] for one in found[:2]]) == pytest.approx(0.463, abs=0.03)
    assert np.mean([one["d_lr"] for one in found[2:]]) == pytest.approx(0.956, abs=0.03)
    assert all(one["d_lr_test"] > one["d_lr"] + 0.05 for one in found[:2])  # unseen symbols use weaker features
    assert all(one["s_init"] == pytest.approx(1, abs=1e-6) for one in found[2:])  # lazy: features stay
    assert all(one["s_init"] < 0.8 for one in found[:2])


@pytest.mark.parametrize(("training", "dtype"), [("sgd", "float64"), ("adamw", "float64"), ("adamw", "float32")])
def test_decay_alone_moves_neither_d_lr_nor_s_init(training, dtype):
    """1e-4 of each parameter a step, and 1e-20 of a gradient: all layers shrink, which both do not see if there are no biases."""
    keys = {"network": "mlp", "depth": 3, "width": 24, "batch": 8, "steps": 400, "eval_every": 400, "seed": 0}
    cell = cell_of(Clusters(d=10, P=200), training=training, dtype=dtype, base_lr=1e-20, weight_decay=1e16, **keys)
    run = PackRun([cell], descent_engine("stacked").trainer([cell]))
    start = values(run)
    while not run.done:
        run.advance(1.0)
    end = values(run)
    # The sums over thousands of parameters average out what 400 steps round, some 20 units of the last of 7 or 16 digits at most.
    assert end["d_lr"] == pytest.approx(start["d_lr"], abs=1e-6)
    assert end["s_init"] == pytest.approx(1, abs=1e-6)
    assert 0.1 < start["d_lr"] < 0.9
    # 800 factors, each rounded to a multiple of 2^-24 in float32.
    assert end["theta_norm2"] == pytest.approx(start["theta_norm2"] * (1 - 1e-4) ** 800, rel=800 * 2**-24)


@pytest.mark.parametrize("engine", ["gram", "batched", "stacked"])
@pytest.mark.parametrize("gamma", [1.0, 1e-5])
def test_every_engine_gives_the_same(engine, gamma):
    cell = a_cell(gamma=gamma, dtype="float64")
    expected, found = values(trained([cell], "reference")), values(trained([cell], engine))
    assert {name for name, value in expected.items() if value is None} == set(CLASSES_ALONE)
    for name in set(NAMES) - set(CLASSES_ALONE):
        assert found[name] == pytest.approx(expected[name], rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("engine", ["batched", "stacked", "reference", "gram"])
def test_single_precision_is_near(engine):
    expected = values(trained([a_cell(dtype="float64")], "reference"))
    found = values(trained([a_cell()], engine))
    assert [found[name] for name in ("d_lr", "d_lr_test", "s_init")] == pytest.approx(
        [expected[name] for name in ("d_lr", "d_lr_test", "s_init")], abs=1e-4
    )


def test_it_depends_on_its_cell_alone():
    one = values(trained([a_cell()]))
    assert values(trained([a_cell(seed=1), a_cell(gamma=0.1), a_cell()]), 2) == one
    halfway = PackRun([a_cell()], descent_engine("gram").trainer([a_cell()]))
    halfway.advance(0.0)
    resumed = PackRun([a_cell()], descent_engine("gram").trainer([a_cell()]))
    resumed.load(halfway.state())
    while not resumed.done:
        resumed.advance(0.0)
    assert values(resumed) == one


def made(outputs, features, start=None, task=TASK):
    """A probe of a network that is a pair of functions of the inputs."""
    cell = cell_of(task, width=24, gamma=1.0, seed=0)

    def at(x):
        return Probed(outputs(x), None if features is None else features(x), {"w": np.array([1.0, 2.0])})

    def no_examples():
        raise AssertionError("richness has probe sets of its own")

    return Probe(cell, no_examples, at=at, at_start=start or (lambda x: None))


def participation_of(features):
    return alignment.participation(alignment.centred(features, np.full(len(features), 1 / len(features))))


def value(name, probe):
    return requested_metric(name).measure(probe)


def test_what_is_not_defined_is_none_and_neither_0_nor_1():
    constant = made(lambda x: np.full(len(x), 0.1 + 0.2), lambda x: x)
    dead = made(lambda x: x[:, 0], lambda x: np.zeros((len(x), 4)))
    nothing = made(lambda x: x[:, 0], None)
    for probe in (constant, dead, nothing):
        assert value("d_lr", probe) is None and value("d_lr_test", probe) is None
    for name in set(NAMES) - {"theta_norm2", "d_lr_rank"}:
        assert name == "participation" or value(name, nothing) is None, name
    assert value("d_eff_rho", dead) is None and value("s_init", dead) is None
    assert value("d_eff_util", made(lambda x: np.zeros(len(x)), lambda x: x)) is None
    assert value("theta_norm2", nothing) == 5


def test_features_that_have_not_changed_are_aligned_with_those_at_the_start():
    same = made(lambda x: x[:, 0], lambda x: x, start=lambda x: 2 * x + 1)
    assert value("s_init", same) == pytest.approx(1, abs=1e-12)
    other = made(lambda x: x[:, 0], lambda x: x[:, :4], start=lambda x: x[:, 20:24])
    assert value("s_init", other) < 0.5


@pytest.mark.parametrize(("width", "expected"), [(4, 4), (24, 9)])
def test_the_span_of_outputs_has_no_more_directions_than_features(width, expected):
    keys = {
        "network": "mlp",
        "depth": 1,
        "batch": 32,
        "steps": 200,
        "eval_every": 200,
        "seed": 0,
        "base_lr": 0.05,
        "dtype": "float64",
    }
    cell = cell_of(Clusters(d=10, P=400, classes=10), training="sgd", width=width, activation="tanh", **keys)
    found = values(trained([cell], "stacked"))
    assert found["d_lr_rank"] == expected
    assert 0 < found["d_lr_proj"] < 1
    if width == expected:  # outputs span all features, whichever they use: 1 - sum rho / (sqrt(R) |rho|)
        run = PackRun([cell], descent_engine("stacked").trainer([cell]))
        while not run.done:
            run.advance(1.0)
        used = probe_of(run, 0)
        inputs, _ = probe_set(stream_owner(cell), cell.task, fresh=False)
        assert found["d_lr_proj"] == pytest.approx(1 - (participation_of(used.at(inputs).features) / width) ** 0.5, abs=1e-9)


def test_the_spectrum_of_features_that_are_not_trained_stays():
    keys = {"network": "mlp", "depth": 2, "width": 24, "batch": 8, "steps": 100, "eval_every": 100, "seed": 0, "trained": "last"}
    cell = cell_of(Clusters(d=10, P=200), training="sgd", dtype="float64", base_lr=0.05, **keys)
    run = PackRun([cell], descent_engine("stacked").trainer([cell]))
    start = values(run)
    while not run.done:
        run.advance(1.0)
    end = values(run)
    assert end["s_init"] == pytest.approx(1, abs=1e-12)
    assert end["rho"] == pytest.approx(start["rho"], abs=1e-12)
    assert end["d_eff_rho"] == pytest.approx(start["d_eff_rho"], rel=1e-12)
    assert abs(end["d_lr"] - start["d_lr"]) > 1e-3  # the outputs do move


def test_equal_examples_are_evaluated_once():
    seen = []

    def outputs(x):
        seen.append(len(x))
        return x[:, 0]

    probe = made(outputs, lambda x: x)
    value("d_lr", probe)
    assert seen == [TASK.L**2]  # all pairs of symbols
    value("d_lr_test", probe)
    assert seen == [TASK.L**2, PROBED]  # fresh examples all differ


def test_all_metrics_of_a_network_draw_and_evaluate_once():
    calls = []

    def outputs(x):
        calls.append(len(x))
        return x[:, 0]

    probe = made(outputs, lambda x: x)
    for name in NAMES:
        if name != "participation":
            value(name, probe)
    assert len(calls) == 2


def test_networks_that_see_the_same_share_their_probe_sets_and_no_change_to_them(monkeypatch):
    drawn = []
    whole = SameDifferent.test_examples
    monkeypatch.setattr(SameDifferent, "test_examples", lambda task, *more: drawn.append(more[-1]) or whole(task, *more))

    @metric("metric that spoils its probe set")
    def spoils(probe):
        probe.inputs[:] = 0

    monkeypatch.setitem(base._REQUESTED, "spoils", spoils)
    run = trained([a_cell(gamma=gamma, seed=77, test_size=PROBED + 1) for gamma in (1.0, 0.1, 0.01)])
    drawn.clear()
    alone = [values(run, c)["participation"] for c in range(3)]
    assert sorted(drawn) == [PROBED, PROBED + 1]
    assert [measured(run, c, ["spoils", *NAMES])[0]["participation"] for c in range(3)] != alone
    assert [values(run, c)["participation"] for c in range(3)] == alone


def test_spectra_add_up_to_what_the_numbers_say():
    found = values(trained([a_cell()]))
    rho, quality, utilisation = (np.array(found[name]) for name in ("rho", "quality", "utilisation"))
    assert len(rho) <= 24 and rho[0] == 1 and (np.diff(rho) <= 0).all()  # no more than the width
    for shares, leading in ((quality, "pi_target_C"), (utilisation, "pi_hat_C")):
        assert (shares >= 0).all() and shares.sum() <= 1 + 1e-9
        assert shares[:2].sum() == pytest.approx(found[leading])
    assert utilisation.sum() < 1  # the centred output is not linear in the features: its part at initialisation is taken off


def test_no_more_eigenfunctions_are_kept_than_are_shown():
    cell = cell_of(SameDifferent(L=12, d=64), width=100, gamma=1e-5, seed=3, steps=20, eval_every=20)
    assert len(values(trained([cell]))["rho"]) == MOST["eigenfunction"]


class Watched:
    """Runs of two cells of which the first is watched."""

    def __init__(self, *names):
        self.names, self.cells = names, [a_cell(), a_cell(gamma=0.1)]

    def run(self):
        run = PackRun(self.cells, descent_engine("gram").trainer(self.cells))
        run.watch([self.names, ()])
        return run

    def ended(self, run):
        while not run.done:
            run.advance(0.0)
        return measured(run, 0, self.names)


def test_curves_of_richness_end_at_the_numbers_of_the_trained_network():
    watched = Watched("curve_d_lr", "curve_d_eff")
    run = watched.run()
    found, failures = watched.ended(run)
    assert not failures and run.watched(1) == {}
    end = values(run)
    assert [len(curve) for curve in found.values()] == [2, 2]
    assert found["curve_d_lr"][-1] == end["d_lr"] and found["curve_d_eff"][-1] == end["d_eff_rho"]
    assert found["curve_d_lr"][0] != found["curve_d_lr"][1]


def test_curves_go_on_after_a_restart():
    watched = Watched("curve_d_lr")
    first = watched.run()
    while not first.step >= 30:
        first.advance(0.0)
    second = watched.run()
    second.load(first.state())
    assert watched.ended(second) == watched.ended(watched.run())


def test_a_metric_that_fails_at_an_evaluation_is_told_and_not_tried_again(monkeypatch):
    tried = []

    def fails(probe):
        tried.append(probe)
        raise ValueError("no such thing")

    asked = replace(requested_metric("curve_d_lr"), measure=fails)
    monkeypatch.setitem(base._REQUESTED, "curve_d_lr", asked)
    watched = Watched("curve_d_lr")
    found, failures = watched.ended(watched.run())
    assert found == {"curve_d_lr": [None, None]} and "no such thing" in failures["curve_d_lr"]
    assert len(tried) == 1


def test_curves_and_spectra_are_in_the_views(tmp_path):
    (tmp_path / "rich.yaml").write_text(
        "sweep: rich\ngrids:\n  - {task: same_different, L: 4, d: 8, width: 16, gamma: 1, seed: {range: 2}, steps: 40, "
        "eval_every: 20, test_size: 64, save: [richness, richness_curve]}\n"
    )
    results = str(tmp_path / "results")
    words = ["-m", "orchestrator.sweep", str(tmp_path / "rich.yaml"), "--results", results, "--debug"]
    assert subprocess.run([sys.executable, *words], check=False, capture_output=True).returncode == 0
    assert fetch(results, "SELECT step, count(curve_d_lr), count(curve_d_eff) FROM curves GROUP BY ALL ORDER BY ALL") == [
        (20, 2, 2), (40, 2, 2),
    ]  # fmt: skip
    last = "SELECT max(abs(d_lr - curve_d_lr)) FROM cells JOIN curves USING (cell_id) WHERE step = 40"
    assert fetch(results, last)[0][0] < 1e-6  # curves are kept in single precision
    spectra = "SELECT count(*), count(rho), count(quality), count(utilisation) FROM spectra WHERE eigenfunction = 1"
    assert fetch(results, spectra) == [(2, 2, 2, 2)]
    done = subprocess.run([sys.executable, *words], check=False, capture_output=True, text=True)
    assert "0 to train" in done.stderr
