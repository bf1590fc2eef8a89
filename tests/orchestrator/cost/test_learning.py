"""Packs of a store, and what a cost model learns from them."""

from collections import defaultdict

import pytest

from orchestrator.cost.model import CostModel
from orchestrator.grid.load import load_grid
from orchestrator.running.worker import PackWork, Provenance
from sweepkit.store.store import Store
from sweepkit.store.views import run as run_query
from tests.own_parts import GATED, keep_registries, own_grid


def train(tmp_path, block, engine, by=lambda cell: cell.task.L):
    """A store of packs, one for each value of `by`, and these packs."""
    (tmp_path / "grid.yaml").write_text(f"""
sweep: learn
defaults: {{steps: 400, batch: 32, eval_every: 200, test_size: 64}}
grids: [{{task: same_different, d: 16, {block}}}]
""")
    grid, store, packs = load_grid(str(tmp_path / "grid.yaml")), Store(str(tmp_path / "results")), defaultdict(list)
    store.prepare()
    for planned in grid.cells:
        packs[by(planned.cell)].append(planned)
    for i, pack in enumerate(packs.values()):
        PackWork(f"pack-{i}", pack, engine, "cpu").advance(float("inf"), Provenance(store.results, ""))
    return store.results, packs


def check_learned(tmp_path, block, engine, group):
    """After packs that took what they took, a new model predicts that, and not what it would have said."""
    results, packs = train(tmp_path, block, engine)
    model = CostModel()
    run_query(results, model.learn)
    for n_symbols, (seconds,) in run_query(results, lambda c: c.execute(_TAKEN).fetchall()):
        assert model.seconds(packs[n_symbols][0].cell, engine, group=group) == pytest.approx(seconds, rel=1e-6)


_TAKEN = "select L, array_agg(distinct seconds) from cells group by L"


@pytest.mark.parametrize("save", ["curves", "participation"])
def test_a_model_learns_from_a_store_what_packs_took(tmp_path, save):
    check_learned(tmp_path, f"L: [3, 20], width: 64, gamma: [1, 0.1], seed: {{range: 3}}, save: [{save}]", "batched", group=2)


SHARING = {
    "momentum": ("momentum: [0, 0.5, 0.9], gamma: 1", 3),
    "prefactor": ("prefactor: [sqrt_d, none], gamma: 1", 2),
    "init_scale": ("network: mlp, init_scale: [0.5, 1]", 2),
    "sigma2": ("sigma2: [0, 1], gamma: 1", 1),
}  # fmt: skip


@pytest.mark.parametrize("key", SHARING)
def test_cells_that_see_the_same_inputs_are_learned_as_a_group(tmp_path, key):
    settings, group = SHARING[key]
    check_learned(tmp_path, f"L: [3, 20], width: 64, {settings}, seed: {{range: 2}}", "stacked", group)


def test_of_packs_that_differ_in_free_keys_the_last_few_are_learned(tmp_path, monkeypatch):
    block = "L: 3, width: 8, gamma: 1, momentum: [0, 0.1, 0.2, 0.3, 0.4, 0.5], steps: [400, 800], seed: 0"
    results, packs = train(tmp_path, block, "stacked", lambda cell: (cell.training.momentum, cell.steps))
    learned = []
    monkeypatch.setattr(CostModel, "_learned", lambda model, cell, *how: learned.append(cell.steps))
    run_query(results, CostModel().learn)
    assert len(packs) == 12 and sorted(learned) == [400] * 5 + [800] * 5


def test_rows_of_an_own_network_whose_parameters_cannot_be_counted_are_left_out(tmp_path, monkeypatch):
    keep_registries(monkeypatch)
    grid, store = load_grid(own_grid(tmp_path, blocks=GATED.replace(", sparsity", ""))), Store(str(tmp_path / "results"))
    store.prepare()
    first = [p for p in grid.cells if p.cell.shape() == grid.cells[0].cell.shape()]
    PackWork("pack", first, "stacked", "cpu").advance(float("inf"), Provenance(store.results, ""))

    def ratios():
        model = CostModel()
        run_query(store.results, model.learn)
        return model._ratios

    assert ratios()
    monkeypatch.setattr(type(first[0].cell.network), "n_parameters", lambda self, cell: 1 / 0)
    assert not ratios()
