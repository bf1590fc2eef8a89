"""Figures of laws of training, from small networks trained here and from made ones."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from sweepkit.studies.deep_linear.theory import start, time_to
from sweepkit.studies.in_context import theory as in_context
from sweepkit.studies.one_third.theory import leading
from sweepkit.studies.power_law import theory as power_law
from sweepkit.studies.power_law.theory import Spectrum, examples_alone, features_fitted
from sweepkit.studies.samples.theory import lazy_samples
from sweepkit.studies.samples.theory import samples as flow_samples

from analysis.figures.drawn import Drawn, Missing
from analysis.figures.registry import FIGURES, figures_of
from analysis.scaling.optimum import edge, growth_exponent, mean_on_grid, optima, optimum
from analysis.studies.loading import studies
from sweepkit.stats import linear_fit, mean_interval
from sweepkit.store.store import Store
from tests.store_rows import row
from trainables.cell import cell_of
from trainables.metrics import metric_groups, requested_metric
from trainables.tasks import Clusters, Halfspace, Hermite, Hermite3, InContext, Modes, Modular, PowerLaw, Square, Staircase

SEEDS = range(3)


def made_store(folder, cells, value, metrics=(), **more):
    """A store with a row for each cell, `value(cell)` a mapping of its metrics."""
    store = Store(str(folder))
    store.prepare()
    asked = [requested_metric(name).metric for name in metrics]
    for n, cell in enumerate(cells):
        empty = {"best_test_acc": None, "L": None, "d": None, "gamma": None, "gamma_label": None}
        found = value(cell)
        status = "diverged" if found is None else "ok"
        rows = [row(cell.cell_id, status, **{**empty, **cell.columns(), **(found or {}), **more})]
        store.commit(f"p{n}", rows, [*cell.declared().values(), *asked])
    return store.results


def at_rates(rates, widths=(64, 256), **keys):
    cell = {"network": "mlp", "depth": 1, "training": "sgd", "steps": 10, "eval_every": 10, **keys}
    return [
        cell_of(Hermite(d=4, degree=2), width=width, base_lr=rate, seed=seed, **cell)
        for width in widths
        for rate in rates
        for seed in SEEDS
    ]


def test_rates_fall_as_the_store_says(tmp_path):
    def value(cell):
        x, best = np.log(cell.training.base_lr), np.log(1.6 / cell.width)
        return None if x > best + 2 else {"test_mse": 0.1 + (x - best) ** 2}

    found = FIGURES["Rates"].draw(made_store(tmp_path, at_rates(np.geomspace(0.001, 0.5, 12)), value), None)
    assert isinstance(found, Drawn), found
    # Rates lie a factor 500^(1/11) apart: at two widths 4 apart that is 0.33 of the exponent.
    assert "standard parametrisation: " in found.caption and "best rate ~ width^-1.00 (-1.33 to -0.67, 3 seeds)" in found.caption
    assert set(found.frame["size"]) == {64, 256} and found.chart.to_dict()


def test_the_drift_of_balances(tmp_path):
    keys = {"network": "mlp", "depth": 3, "width": 8, "training": "gd", "eval_every": 10}
    rates = [(0.01, 40), (0.02, 20)]
    cells = [cell_of(Clusters(d=4, classes=3, P=8), base_lr=r, steps=s, seed=seed, **keys) for r, s in rates for seed in SEEDS]

    def drift(cell):
        return 10.0**cell.seed * (cell.training.base_lr / 0.02) ** (0.9 + 0.1 * cell.seed)

    found = FIGURES["Balance"].draw(made_store(tmp_path, cells, lambda c: {"balance_drift": drift(c)}, ["balance_drift"]), None)
    assert isinstance(found, Drawn), found
    # Exponents of the seeds are 0.9, 1 and 1.1; that of the means would be pulled to the seed with the largest drift.
    assert "base_lr^1.00 (0.75 to 1.25, 3 seeds)" in found.caption and "6 networks" in found.caption
    scales = [layer["encoding"]["y"].get("scale", {}) for layer in found.chart.to_dict()["layer"]]
    domain = next(scale["domain"] for scale in scales if "domain" in scale)
    assert domain[0] < found.frame["mean"].min() and domain[1] > found.frame["high"].max()


def test_sharpness_along_training(tmp_path):
    keys = {"network": "mlp", "depth": 1, "width": 8, "training": "gd", "steps": 30, "eval_every": 10}
    cells = [cell_of(Hermite(d=4, degree=2, P=8), base_lr=rate, seed=seed, **keys) for rate in (0.1, 0.2) for seed in SEEDS]

    def value(cell):
        edge = [0.5, 0.8, 1.0] if cell.training.base_lr == 0.2 else [0.2, 0.3, 0.4]
        return {"edge": edge[-1], "curve_step": [10, 20, 30], "curve_edge": edge}

    found = FIGURES["Edge"].draw(made_store(tmp_path, cells, value, ["edge", "curve_edge"]), None)
    assert isinstance(found, Drawn), found
    last = found.frame[found.frame["step"] == 30].set_index("base_lr")["mean"]
    assert last.to_dict() == pytest.approx({0.1: 0.4, 0.2: 1.0}) and found.chart.to_dict()


def test_cross_entropy_beside_the_one_third_law(tmp_path):
    steps = [100, 178, 316, 562, 1000, 1778, 3162, 5623, 10_000]
    way = {"steps": 10_000, "eval_every": 10_000, "base_lr": 1.0, "batch": 256}
    cells = [cell_of(Halfspace(d=d), seed=seed, **way) for d in (1, 8) for seed in SEEDS]

    def value(cell):
        return {"final_train_loss": 0.02, "curve_step": steps, "curve_train_loss": list(leading(steps)), "margin": 0.0}

    found = FIGURES["OneThird"].draw(made_store(tmp_path, cells, value), None)
    assert isinstance(found, Drawn), found
    assert "cross entropy -0.33" in found.caption and "6 networks" in found.caption
    dashed = [layer for layer in found.chart.layer if layer.mark.type == "line"][-1].data
    # Over a quarter of a decade the mean of the law is 1.1 times its last value; the solution is 1.003 times the law.
    assert (dashed["mean"] / leading(dashed["x"])).iloc[-1] == pytest.approx(1.09, abs=0.02)


def test_squared_errors_alone_have_no_theory(tmp_path):
    way = {"steps": 1000, "eval_every": 1000, "base_lr": 0.1, "batch": 256, "loss": "mse"}
    cells = [cell_of(Halfspace(d=8), seed=seed, **way) for seed in SEEDS]
    flat = {"final_train_loss": 0.36, "curve_step": [100, 316, 1000], "curve_train_loss": [0.36] * 3, "margin": 0.0}
    found = FIGURES["OneThird"].draw(made_store(tmp_path, cells, lambda cell: flat), None)
    assert isinstance(found, Drawn), found
    assert (
        "squared error none, as training is too short" in found.caption
        and "3 networks" in found.caption
        and found.chart.to_dict()
    )


MODE_CURVES = [f"curve_mode_{k}" for k in (1, 2, 3, 4)]


def modes(rank=4, strength=4.0, seeds=SEEDS, steps=4000, **keys):
    way = {"activation": "linear", "width": 8, "base_lr": 0.002, "steps": steps, "eval_every": 50}
    return [cell_of(Modes(d=6, P=12, rank=rank, strength=strength), seed=seed, **{**way, **keys}) for seed in seeds]


def learnt_as_said(cell):
    """Curves of lines that are halfway at the theory's time, of deep Gaussian starts at s_0^-(L-2)."""
    layers, scale = cell.network.depth + 1, cell.network.init_scale
    curves = {"curve_step": list(cell.evaluations), "final_train_loss": 0.0}
    for k in range(cell.task.rank):
        s = 4.0 / 2**k if cell.task.rank > 1 else 1.0
        u_0 = start(cell.network.start, scale, layers, cell.task.d, cell.width, k + 1)
        half = 1.0 if cell.network.centred else scale ** (2 - layers) if u_0 is None else float(time_to(0.5, s, u_0, layers))
        steps = np.asarray(cell.evaluations)
        curves[MODE_CURVES[k]] = list(np.clip(0.5 + (2 * 0.002 * steps - half) / 0.8, 0, 1))
    aligned = [0.2, 0.59 if cell.task.correlation else 1.0, 1.0]
    n = len(cell.evaluations) - 3
    losses = [1.0, 0.9, 0.5] + [0.0] * n
    return {**curves, "curve_target_alignment": (aligned + [1.0] * n)[: n + 3], "curve_train_loss": losses[: n + 3]}


def test_deep_linear_networks_beside_their_half_times(tmp_path):
    cells = [
        *modes(depth=1, init_scale=0.001), *modes(depth=1, init_scale=0.01), *modes(depth=1, gamma=0.01, centred=True),
        *modes(rank=3, depth=2, init_scale=0.05, start="balanced", steps=5000),
        *modes(rank=3, depth=3, init_scale=0.1, start="balanced", steps=14000),
        *(cell for scale in (0.1, 0.2) for depth in (2, 3) for cell in modes(1, 1.0, depth=depth, init_scale=scale, steps=26000)),
    ]  # fmt: skip
    for rho in (0.0, 0.5):
        way = {"activation": "linear", "width": 8, "base_lr": 0.002, "steps": 4000, "eval_every": 50}
        task = Modes(d=6, P=12, correlation=rho)
        cells += [cell_of(task, depth=1, init_scale=0.001, seed=seed, **way) for seed in SEEDS]
    found = FIGURES["DeepLinear"].draw(
        made_store(tmp_path, cells, learnt_as_said, [*MODE_CURVES, "curve_target_alignment"]), None
    )
    assert isinstance(found, Drawn), found
    halves = found.frame[(found.frame["figure"] == "half times by strength") & found.frame["theory"].notna()]
    assert set(halves["series"]) == {"2 layers, Gaussian start", "3 layers, balanced start", "4 layers, balanced start"}
    np.testing.assert_allclose(halves["mean"], halves["theory"], rtol=1e-3)  # made on the line between evaluations
    assert "3 layers -1.00" in found.caption and "4 layers -2.00" in found.caption and "33 networks" in found.caption
    late = found.frame[(found.frame["figure"] == "alignment") & (found.frame["loss"] == 0.9)].set_index("correlation")["mean"]
    assert late.to_dict() == pytest.approx({0.0: 1.0, 0.5: 0.59}) and found.chart.to_dict()


def test_balanced_networks_alone_are_drawn(tmp_path):
    cells = modes(3, depth=2, init_scale=0.05, start="balanced")
    cells += modes(3, depth=3, init_scale=0.1, start="balanced", steps=14000)
    found = FIGURES["DeepLinear"].draw(
        made_store(tmp_path, cells, learnt_as_said, [*MODE_CURVES, "curve_target_alignment"]), None
    )
    assert isinstance(found, Drawn), found
    assert "half time ~ start" not in found.caption and found.chart.to_dict()


@pytest.mark.parametrize(
    ("steps", "said"), [(100, "none, as"), (700, "none, as"), (2000, "half time ~ strength^b, 2 layers, Gaussian start -0.9")]
)
def test_modes_that_are_not_learnt_yet_have_no_half_times(tmp_path, steps, said):
    cells = [*modes(depth=1, init_scale=0.001, steps=steps), *modes(depth=1, init_scale=0.01, steps=steps)]
    found = FIGURES["DeepLinear"].draw(
        made_store(tmp_path, cells, learnt_as_said, [*MODE_CURVES, "curve_target_alignment"]), None
    )
    assert isinstance(found, Drawn), found
    assert said in found.caption and found.chart.to_dict()


def found_after(cell, samples):
    """Curves of a network that finds its target after so many samples."""
    step = samples / cell.batch
    return {"test_mse": 0.1, "curve_step": [1, int(0.99 * step), int(step / 0.99)], "curve_test_mse": [1.0, 0.9, 0.1]}


def by_sgd(task, d, power, **keys):
    keys = {"steps": 100 * d, "eval_every": 100 * d, "base_lr": 0.02 * d**-power, "batch": 64, "width": 8} | keys
    return [cell_of(task(d), seed=seed, training="sgd", **keys) for seed in SEEDS]


def on_spheres(degree):
    power = max(1, degree / 2)
    return [one for d in (16, 32, 64) for one in by_sgd(lambda d: Hermite(d=d, degree=degree), d, power, network="sphere")]


def test_samples_over_the_leap_of_the_target(tmp_path):
    relu = {"network": "mlp", "depth": 1, "bias": True, "bias_scale": 1.0}
    bits = [one for d in (16, 32, 64) for one in by_sgd(lambda d: Staircase(d=d, degree=3, leap=3), d, 1.5, **relu)]

    def value(cell):
        of_law = cell.task.name == "staircase"
        return found_after(cell, 1e3 * cell.task.d**2 if of_law else 3 * flow_samples(2, cell.task.d, cell.training.base_lr, 64))

    found = FIGURES["Leaps"].draw(made_store(tmp_path, [*on_spheres(2), *bits], value), None)
    assert isinstance(found, Drawn), found
    assert "He_2: " in found.caption and "x1x2x3: " in found.caption and "~ d^2.00" in found.caption
    left, right = found.chart.hconcat
    for panel, height in ((left, 3.0), (right, 1.0)):  # the flow has no free height; the law of bits goes through the points
        theory, _, dots = panel.vconcat[0].layer
        at = theory.data.set_index("d")["mean"].reindex([16, 32, 64])
        measured = dots.data.set_index("d")["mean"]
        assert (measured / at).to_numpy() == pytest.approx([height] * 3, rel=0.02)
    assert found.chart.to_dict()


def test_he3_in_three_ways(tmp_path):
    kernel = {"network": "erf_kernel", "training": "ridge", "test_size": 64}
    lazy = [cell_of(Hermite(d=d, degree=3, P=P), seed=seed, **kernel) for d in (8, 12) for P in (100, 300, 900) for seed in SEEDS]
    gibbs = [
        cell_of(Hermite3(d=d, P=P), network="erf2", width=d, kappa=1.0, seed=seed, steps=16, eval_every=2, chains=2)
        for d in (24, 48) for P in (200, 800, 3200) for seed in SEEDS
    ]  # fmt: skip

    def value(cell):
        noise = 1e-3 * cell.seed
        if cell.training.name == "ridge":
            return {"test_mse": 0.5 + noise - 0.3 * np.tanh(np.log(cell.task.P / lazy_samples(cell.task.d, 1e-4)))}
        if cell.training.name == "langevin":
            return {"alignment_f": 0.1 + noise + 0.08 * np.tanh(np.log(cell.task.P / (20 * cell.task.d))), "mixed": True}
        return found_after(cell, 1e3 * cell.task.d**2)

    found = FIGURES["Samples"].draw(made_store(tmp_path, [*on_spheres(3), *lazy, *gibbs], value), None)
    assert isinstance(found, Drawn), found
    at = found.frame.set_index(["series", "d"])["mean"]
    assert at["lazy, kernel of the erf network", 8] == pytest.approx(lazy_samples(8, 1e-4), rel=0.05)
    assert at["equilibrium, erf network, N = d", 24] == pytest.approx(480, rel=0.1)  # read between P = 200 and 800
    assert at["SGD, neurons on the sphere", 32] == pytest.approx(1e3 * 32**2, rel=0.02)
    assert found.frame["series"].nunique() == 3 and "A_f = 0.1" in found.caption and found.chart.to_dict()


def test_power_laws_beside_their_theory(tmp_path):
    """Stores whose errors are the theory's: measured exponents are those in brackets."""
    linear = {"network": "mlp", "depth": 1, "activation": "linear", "centred": True, "steps": 1000, "eval_every": 1000}
    steps = np.unique(np.geomspace(5, 1000, 30).round().astype(int)).tolist()
    task, of = PowerLaw(d=200), Spectrum.of(200, 2.0, 0.5)
    rich = [cell_of(task, width=8, gamma=g, base_lr=0.1, seed=s, **linear) for g in (0.01, 1.0) for s in SEEDS]
    along = [cell_of(task, width=n, base_lr=0.25, trained="last", seed=s, **linear) for n in (4, 8, 16, 32) for s in SEEDS]
    solved = {"network": "random_features", "training": "ridge"}
    wide = [cell_of(PowerLaw(d=200, P=400), width=n, seed=s, **solved) for n in (8, 16, 32) for s in SEEDS]
    many = [cell_of(PowerLaw(d=200, P=p), network="linear1", training="ridge", seed=s) for p in (8, 16, 32) for s in SEEDS]

    def value(cell):
        if cell.training.name == "ridge":
            p = cell.task.P
            error = examples_alone(p, of) if cell.network.name == "linear1" else features_fitted(cell.width, p, of)
            return {"test_mse": error}
        t = 2 * cell.training.base_lr * np.array(steps, float)
        curve = power_law.rich(t, of, cell.network.gamma) if cell in rich else power_law.features(t, cell.width, of)
        return {"test_mse": float(curve[-1]), "curve_step": steps, "curve_test_mse": curve.tolist()}

    found = FIGURES["PowerLaws"].draw(made_store(tmp_path, [*rich, *along, *wide, *many], value), None)
    assert isinstance(found, Drawn), found
    told = re.findall(r"(\w+), difficulty 0.5(?:, (lazy|rich))?: (-[0-9.]+) \((-[0-9.]+)\)", found.caption)
    assert [(panel, which) for panel, which, *_ in told] == [
        ("time", "lazy"), ("time", "rich"), ("features", ""), ("examples", ""), ("compute", "")
    ]  # fmt: skip
    for panel, _, measured, theory in told:
        assert float(measured) == pytest.approx(float(theory), abs=0.011), panel  # two digits
    assert "36 networks" in found.caption and found.chart.to_dict()
    assert found.frame["exponent"].between(-1.5, -0.1).all()


def test_features_that_span_all_dimensions_have_no_law(tmp_path):
    solved = {"network": "random_features", "training": "ridge"}
    wide = [cell_of(PowerLaw(d=20, P=400), width=n, seed=s, **solved) for n in (8, 16, 32) for s in SEEDS]
    found = FIGURES["PowerLaws"].draw(made_store(tmp_path, wide, lambda cell: {"test_mse": 1 / cell.width}), None)
    assert isinstance(found, Drawn), found
    law = linear_fit(np.log([8, 16]), np.log([features_fitted(n, 400, Spectrum.of(20, 2.0, 0.5)) for n in (8, 16)])).slope.value
    assert f"features, difficulty 0.5: -1.00 ({law:.2f})" in found.caption and found.chart.to_dict()


def test_the_delay_of_the_test_error_against_laziness(tmp_path, monkeypatch):
    """Test errors fall 2/gamma times as late as training errors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    steps = [*range(10, 1001, 10)]
    way = {"width": 8, "curvature": 0.25, "base_lr": 0.2, "steps": 1000, "eval_every": 1000, "eval_at": "log 24", "test_size": 8}
    cells = [
        cell_of(Square(d=4, P=p), gamma=gamma, seed=seed, **way)
        for p, gamma in ((24, 1.0), (24, 0.5), (24, 0.25), (48, 1.0))
        for seed in SEEDS
    ]
    decay = {"training": "adamw", "base_lr": 0.01, "batch": 0, "weight_decay": 0.3, "steps": 1000, "eval_every": 1000}
    cells += [
        cell_of(Modular(modulus=5, fraction=0.6), network="mlp", width=8, gamma=gamma, seed=seed, **decay)
        for gamma in (1.0, 0.5)
        for seed in SEEDS
    ]

    def value(cell):
        late = 100 * 2 / cell.network.gamma
        if cell.task.name == "modular":
            accs = {"train": [float(s >= 50) for s in steps], "test": [float(s >= late) for s in steps]}
            return {"final_test_acc": 1.0, "curve_step": steps, **{f"curve_{name}_acc": of for name, of in accs.items()}}
        terms = {
            f"curve_error_{name}": [0.2 if s < late else 0.01 for s in steps] for name in ("constant", "quadratic", "linear")
        }
        curves = {"curve_train_loss": [0.6 if s < 100 else 0.05 for s in steps]}
        curves["curve_test_mse"] = [0.6 if s < late else 0.05 for s in steps]
        return {"test_mse": 0.05, "curve_step": steps, **curves, **terms}

    found = FIGURES["LazyToRich"].draw(made_store(tmp_path, cells, value, metric_groups()["error_terms"].members), None)
    assert isinstance(found, Drawn), found
    assert "over laziness: 1.00 (1.00 to 1.00; between neighbours 1.00, 1.00)" in found.caption
    delays = found.frame[found.frame["x"].notna()].groupby(["networks", "x"])["mean"].first()
    assert delays["committee, over laziness"].to_dict() == pytest.approx({1: 2, 2: 4, 4: 8})
    assert delays["x + y mod p, with decay"].to_dict() == pytest.approx({1: 4, 2: 8})
    assert found.frame["theory"].notna().sum() >= 3 and found.chart.to_dict()


def test_linear_attention_over_contexts_and_tasks(tmp_path):
    """Errors are 1.2 times the theory's on new tasks, and the theory's on old ones."""
    solved = {"network": "linear_attention", "training": "ridge", "ridge": 0.03, "test_size": 64}
    cells = [
        cell_of(InContext(d=d, context=2 * d, noise=0.1, P=int(tau * d**2)), seed=seed, **solved)
        for d in (8, 12) for tau in (0.5, 1, 2) for seed in SEEDS
    ]  # fmt: skip
    cells += [
        cell_of(InContext(d=8, context=16, noise=0.1, P=256, train_tasks=k, tested=tested), seed=seed, **solved)
        for k in (2, 8, 32) for tested in ("new", "old") for seed in SEEDS
    ]  # fmt: skip

    def value(cell):
        task = cell.task
        errors = in_context.drawn(task.d, task.context, task.train_tasks, task.P, 0.03, 0.1)
        return {"test_mse": 1.2 * errors.new if task.tested == "new" else errors.old}

    found = FIGURES["InContext"].draw(made_store(tmp_path, cells, value), None)
    assert isinstance(found, Drawn), found
    assert "d = 8, new tasks: 1.20 to 1.20, largest at 1.00 d^2" in found.caption and "36 networks" in found.caption
    assert "over tasks, d = 8, old tasks: 1.00 to 1.00" in found.caption
    assert "over tasks: P = 4 d^2, contexts of 2 d examples, noise 0.1, ridge 0.03" in found.caption
    np.testing.assert_allclose(found.frame["mean"] / found.frame["law"], np.where(found.frame["test on"] == "new tasks", 1.2, 1))
    assert found.chart.to_dict()


def test_mlps_in_context_over_compute_and_tasks(tmp_path):
    """Errors are 1/step + 1/width, and on new tasks 0.3 above those on old ones."""
    ways = [(16, 400), (64, 400), (64, 1000)]
    by_adam = {"network": "mlp", "depth": 2, "bias": True, "test_size": 64}
    cells = [
        cell_of(InContext(d=2, context=4, noise=0.1), width=width, steps=steps, eval_every=steps, seed=seed, **by_adam)
        for width, steps in ways for seed in SEEDS
    ]  # fmt: skip
    few = {"width": 16, "steps": 400, "eval_every": 400, **by_adam}
    cells += [
        cell_of(InContext(d=2, context=4, noise=0.1, train_tasks=k, tested=tested), seed=seed, **few)
        for k in (4, 8) for tested in ("new", "old") for seed in SEEDS
    ]  # fmt: skip

    def value(cell):
        steps = [1, 100, cell.steps]
        apart = 0.3 if cell.task.train_tasks and cell.task.tested == "new" else 0.0
        errors = [apart + 1 / step + 1 / cell.width for step in steps]
        return {"test_mse": errors[-1], "curve_step": steps, "curve_test_mse": errors}

    found = FIGURES["InContextMLP"].draw(made_store(tmp_path, cells, value), None)
    assert isinstance(found, Drawn), found
    assert "new - old at k = 4 0.300; new - old at k = 8 0.300" in found.caption and "21 networks" in found.caption
    assert f"Bayes {in_context.bayes(2, 4, 0.1):.3f}" in found.caption
    for width, steps in ((16, 400), (64, 1000)):  # the longest of each width
        last = found.frame[found.frame["test on"] == f"width {width}"].iloc[-1]
        assert last["mean"] == pytest.approx(1 / steps + 1 / width)
        one = cells[ways.index((width, steps)) * len(SEEDS)]
        assert last["size"] == one.network.n_parameters(one) * steps
    names = [layer["encoding"]["text"]["value"] for layer in _layers(found.chart.to_dict()) if "text" in layer["encoding"]]
    attention = "best linear attention"
    assert sorted(names) == sorted(["Bayes", attention, "Bayes, new tasks", f"{attention}, new tasks", f"{attention}, old tasks"])
    assert (
        "Bayes, the least error on new tasks, which networks that know the k old tasks by heart may fall below" in found.caption
    )


def _layers(chart):
    return [layer for panel in chart["hconcat"] for layer in panel["layer"]]


@pytest.mark.parametrize(
    "name", [figure.name for study in studies() for figure in figures_of(study) if figure.grids and not study.tag]
)
def test_what_is_lacking_is_said(tmp_path, name):
    made = made_store(tmp_path, at_rates([0.1], widths=(64,)), lambda cell: {"test_mse": 0.5})
    assert isinstance(FIGURES[name].draw(made, None), Missing)


@pytest.mark.parametrize(
    ("y", "best", "at"),
    [
        ([4, 1, 0, 1, 4], 0.01, ""),
        ([4, 1, 0, np.inf, np.inf], 0.01, ""),
        ([0, 1, 4, 9, 16], 0.0001, "the least value tried"),
        ([9, 4, 1, 0.5, 0.1], 1, "the largest value tried"),
        ([1, 0.25, 0.25, 1, 2], 10**-2.5, ""),
    ],
)
def test_where_networks_are_best(y, best, at):
    found = optimum(np.array([1e-4, 1e-3, 1e-2, 1e-1, 1]), y)
    assert found.x == pytest.approx(best) and found.at == at


@pytest.mark.parametrize(
    ("y", "x", "at"),
    [
        ([1, 1, np.inf, np.inf], 2 * 2**0.5, ""),
        ([1, np.inf, 1, np.inf], 2**0.5, ""),
        ([1, 1, 1, 1], 8, "the largest value tried"),
        ([np.inf, 1, 1, 1], 1, "the least value tried"),
    ],
)
def test_where_training_ceases_to_be_stable(y, x, at):
    found = edge([1, 2, 4, 8], y)
    assert found.x == pytest.approx(x) and found.at == at
    assert found.step == pytest.approx(0 if at else np.log(2))


def test_an_interval_of_values_on_a_grid_holds_the_error_of_the_grid():
    """Equal values are known to the grid's step alone; others to both errors."""
    equal = mean_on_grid([1.0] * 6, 0.3)
    assert equal.high - 1 == pytest.approx(1.96 * 0.3 / 12**0.5) and equal.spread == ""
    values = [0.9, 1.0, 1.3, 1.1, 0.8, 0.9]
    of_seeds, both = mean_interval(values), mean_on_grid(values, 0.3)
    assert both.high - both.value == pytest.approx(np.hypot(of_seeds.high - of_seeds.value, 1.96 * 0.3 / 12**0.5))


def test_a_seed_is_a_slope_of_its_own():
    rows = [
        {"width": width, "seed": seed, "base_lr": rate, "value": np.log(rate * width**exponent) ** 2}
        for seed, exponent in enumerate((0.9, 1.1))
        for width in (4, 16, 64)
        for rate in np.geomspace(0.003, 1, 15)
    ]
    found = growth_exponent(optima(pd.DataFrame(rows), "base_lr", "width"), "width")
    assert found.value == pytest.approx(-1, abs=1e-6) and found.n == 2
    assert growth_exponent(optima(pd.DataFrame(rows[:15]), "base_lr", "width"), "width") is None


def test_spreads_over_weights_beside_the_lazy_theory(tmp_path):
    """Variances of 2/width on each of three data sets, and a shift of 3/width from an output of 1 at infinite width."""
    lazy = {"training": "ridge", "ridge": 1e-6}
    way = {"network": "mlp", "depth": 1, "training": "sgd", "batch": 0, "steps": 10, "eval_every": 10, "gamma": 1.0}
    cells = [
        cell_of(Hermite(d=4, degree=2, P=8, data_seed=data), width=m, seed=4 * data + seed, **keys)
        for keys in ({"network": "tangent", **lazy}, way) for data in range(3) for m in (8, 16, 32) for seed in range(4)
    ]  # fmt: skip
    limits = [cell_of(Hermite(d=4, degree=2, P=8, data_seed=data), network="tangent_kernel", seed=0, **lazy) for data in range(3)]

    def value(cell):
        if cell.network.name == "tangent_kernel":
            return {"test_mse": 0.1, "output": [1.0] * 4}
        sign = 1 if cell.seed % 4 < 2 else -1  # both halves of the seeds have mean 0
        return {"test_mse": 0.1, "output": [1 + 3 / cell.width + sign * (1.5 / cell.width) ** 0.5] * 4}

    found = FIGURES["Fluctuations"].draw(made_store(tmp_path, [*cells, *limits], value, ["output"]), None)
    assert isinstance(found, Drawn), found
    assert "variance ~ width^-1.00" in found.caption and "trained, gamma = 1" in found.caption
    assert "along that of the narrowest ~ width^-1.00" in found.caption and found.chart.to_dict()
    of = found.frame.set_index(["networks", "width"])
    assert of.loc[("lazy, solved for", 8), "mean"] == pytest.approx(2 / 8)
    assert of.loc[("lazy, solved for", 8), "lazy theory"] == pytest.approx(2 * of.loc[("lazy, solved for", 16), "lazy theory"])
    assert of["lazy theory"].isna().sum() == 6  # none for trained networks and shifts


def lazy_cells(examples, widths):
    """Lazy networks that are solved for, two seeds of each width on two data sets, and those of infinite width."""
    lazy, sets = {"training": "ridge", "ridge": 1e-6}, list(itertools.product(examples, range(2)))
    return [
        *(cell_of(Hermite(d=4, degree=2, P=P, data_seed=data), network="tangent", width=m, seed=2 * data + seed, **lazy)
          for P, data in sets for m in widths for seed in range(2)),
        *(cell_of(Hermite(d=4, degree=2, P=P, data_seed=data), network="tangent_kernel", seed=0, **lazy) for P, data in sets),
    ]  # fmt: skip


def test_the_onset_of_variance_of_single_networks_and_ensembles(tmp_path):
    """Errors of 0.1 (1 + (P/P*)^2/2), P* = 2 sqrt(width), for single networks, and 0.1 for ensembles and at infinite width."""

    def value(cell):
        if cell.network.name == "tangent_kernel":
            return {"test_mse": 0.1, "output": [0.0] * 4}
        excess = 0.05 * (cell.task.P / (2 * cell.width**0.5)) ** 2
        return {"test_mse": 0.1 + excess, "output": [(2 * (cell.seed % 2) - 1) * excess**0.5] * 4}

    found = FIGURES["VarianceLimit"].draw(made_store(tmp_path, lazy_cells((4, 8, 16, 32), (8, 16, 32)), value, ["output"]), None)
    assert isinstance(found, Drawn), found
    onsets = found.frame[found.frame["of"] == "single networks"].groupby("width")["P*"].first()
    # Between 4 and 8 ratios are 1.25 and 2, and the line in logarithms crosses 1.5 at 0.93 of P*.
    np.testing.assert_allclose(onsets, 2 * np.array([8, 16, 32]) ** 0.5 * [0.925, 1, 0.925], rtol=0.01)
    assert found.frame[found.frame["of"] == "ensembles"]["ratio"].to_numpy() == pytest.approx(1)
    assert "~ width^0.5" in found.caption and "ensembles P* inf at 8" in found.caption and found.chart.to_dict()


def test_a_seed_that_lacks_values_has_no_optimum():
    rows = [
        {"width": 4, "seed": seed, "base_lr": rate, "value": (rate - 0.2) ** 2} for seed in (0, 1) for rate in (0.1, 0.2, 0.4)
    ]
    assert list(optima(pd.DataFrame(rows[:-1]), "base_lr", "width")["seed"]) == [0]
