"""Networks at equilibrium as cells of a sweep: grid, rows, what is kept and shown, and a threshold in P."""

import json

import pytest
from typer.testing import CliRunner

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.plan.missing import missing_cells
from orchestrator.running.progress import snapshot
from orchestrator.sweep import app
from sweepkit.store.store import Store
from sweepkit.store.views import connect, fetch
from tests.orchestrator.running.test_driver import run

GRID = """\
sweep: small
defaults: {steps: 40, eval_every: 5, chains: 2, test_size: 128, kappa: 0.5}
grids:
  - task: he3
    network: erf2
    d: 4
    width: [4, 6]
    P: [0, 12]
    seed: {range: 2}
    save: [curves, neurons]
"""


@pytest.fixture
def grid_file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(GRID)
    return path


def test_its_keys_are_those_of_its_kind(grid_file):
    grid = load_grid(grid_file)
    assert len(grid.cells) == 8 and len({p.cell_id for p in grid.cells}) == 8
    for planned in grid.cells:
        assert planned.cell_id == planned.cell.cell_id
        assert not hasattr(planned.cell, "gamma") and planned.cell.gamma_label is None
    with pytest.raises(GridError, match="unknown key 'gamma'") as error:
        load_grid(grid_file, ["gamma=1"])
    assert "kappa" in str(error.value)
    for words, reason in (
        ("chains=3", "must be even"),
        ("steps=45", "burn-in"),
        ("steps=30", "needs 4 at least"),
        ("network=erf9", "one of erf2"),
    ):
        with pytest.raises(GridError, match=reason):
            load_grid(grid_file, [words])
    with pytest.raises(GridError, match="weights"):
        load_grid(grid_file, ["save=weights"])


def test_rows_say_what_was_measured_and_whether_the_chains_mixed(grid_file, results):
    run(load_grid(grid_file), results)
    rows = connect(results).execute("SELECT * FROM cells ORDER BY width, P, seed").df()
    assert len(rows) == 8 and (rows["status"] == "ok").all() and (rows["engine"] == "langevin").all()
    assert rows["gamma"].isna().all() and rows["best_test_acc"].isna().all()
    assert rows["network"].eq("erf2").all() and rows["kappa"].eq(0.5).all() and rows["scaling"].eq("standard").all()
    none = rows[rows["P"] == 0]
    assert (none["alignment_f"] == 0).all(), "without data the mean output is 0"
    assert rows["acceptance"].between(0, 1).all() and rows["r_hat"].notna().all()
    # So few trajectories cannot mix, and the row says so.
    assert not rows["mixed"].any() and rows["reason"].str.startswith("did not mix").all()
    curves = fetch(results, "SELECT cell_id, count(*), count(chain_alignment_f), count(test_acc) FROM curves GROUP BY ALL")
    assert {row[1:] for row in curves} == {(8, 8, 0)}
    overlap = fetch(results, "SELECT list_sum(overlap), width FROM internal.rows")
    assert all(total == pytest.approx(width) for total, width in overlap), "each neuron lies in one bin"


def test_richness_is_kept_of_both_ways_to_learn_and_is_not_asked_for_twice(grid_file, results):
    grid_file.write_text(
        "sweep: both\ndefaults: {task: he3, d: 4, P: 12, width: 6, seed: 0, steps: 20, test_size: 64}\ngrids:\n"
        "  - {training: langevin, network: erf2, eval_every: 2, chains: 2, kappa: 0.5, save: [richness]}\n"
        "  - {training: sgd, network: mlp, depth: 1, eval_every: 10, save: [richness]}\n"
    )
    run(load_grid(grid_file), results)
    columns = "training, 0 < d_lr AND d_lr < d_lr_test, s_init IS NULL, theta_norm2 IS NULL, participation > 1, reason"
    rows = fetch(results, f"SELECT {columns} FROM cells ORDER BY training")
    assert [row[:5] for row in rows] == [("langevin", True, True, True, True), ("sgd", True, False, False, True)]
    assert rows[0][5].startswith("did not mix") and "metric" not in rows[0][5] and rows[1][5] is None
    assert fetch(results, "SELECT count(rho), count(DISTINCT cell_id) FROM spectra WHERE eigenfunction = 1") == [(2, 2)]
    assert missing_cells(load_grid(grid_file).cells, Store(results).statuses()) == []
    assert load_grid(grid_file).cells[0].cell_id == load_grid(grid_file, ["save=curves"]).cells[0].cell_id


@pytest.mark.parametrize(("asked", "said"), [
    ("s_init", "s_init is measured on networks that learn by gradient descent, not by langevin"),
    ("richness_curve", "richness_curve is measured on networks that learn by gradient descent, not by langevin"),
    ("weights", "network erf2 under langevin keeps no weights; it saves curves, neurons, richness"),
])  # fmt: skip
def test_what_samples_lack_is_refused(grid_file, asked, said):
    with pytest.raises(GridError, match=said):
        load_grid(grid_file, [f"save={asked}"])


def test_a_search_may_go_by_richness(grid_file):
    find = "find: {axis: P, metric: METRIC, at: 0.5, range: [8, 64]}"
    for metric, legal in (("d_lr", True), ("s_init", False)):
        grid_file.write_text(GRID.replace("P: [0, 12]", find.replace("METRIC", metric)))
        if legal:
            assert "d_lr" in load_grid(grid_file).cells[0].save
        else:
            with pytest.raises(GridError, match=f"find: metric = '{metric}'.* d_lr"):
                load_grid(grid_file)


def test_the_loss_is_a_key_of_the_task_whose_labels_allow_it(grid_file, results):
    with pytest.raises(GridError, match="loss cross_entropy needs labels, and the targets of he3 are real numbers"):
        load_grid(grid_file, ["loss=cross_entropy"])
    text = GRID.replace("task: he3", "task: parity2\n    loss: [mse, cross_entropy]").replace("erf2", "relu2")
    grid_file.write_text(text.replace("P: [0, 12]", "P: 200").replace("[4, 6]", "4").replace("steps: 40", "steps: 80"))
    run(load_grid(grid_file), results)
    rows = connect(results).execute("SELECT * FROM cells ORDER BY loss, seed").df()
    assert (rows["status"] == "ok").all() and rows["loss"].tolist() == ["cross_entropy"] * 2 + ["mse"] * 2
    assert (rows["final_test_acc"] > 0.9).all() and rows["best_test_acc"].isna().all()
    for name in ("train_mse", "test_mse"):
        assert rows[name].isna().tolist() == [True, True, False, False]
    assert rows["final_train_loss"].isna().tolist() == [False, False, True, True]
    curves = "SELECT loss, count(train_loss), count(chain_train_mse), count(test_acc) FROM curves JOIN cells USING (cell_id)"
    assert set(fetch(results, f"{curves} GROUP BY loss")) == {("cross_entropy", 32, 0, 32), ("mse", 0, 32, 32)}


def test_numbers_do_not_depend_on_packs(grid_file, results, tmp_path):
    grid, other = load_grid(grid_file), str(tmp_path / "other")
    run(grid, results, pack_seconds=1e-9)
    run(grid, other, pack_seconds=1e9)
    query = "SELECT cell_id, alignment_f, r_hat, n_specialised_1 FROM cells ORDER BY cell_id"
    assert fetch(results, query) == fetch(other, query)


def test_a_threshold_in_the_number_of_samples(grid_file, results):
    text = GRID
    for old, new in (("    P: [0, 12]\n", ""), ("[4, 6]", "4"), ("[curves, neurons]", "[curves]")):
        text = text.replace(old, new)
    grid_file.write_text(text + "    find: {axis: P, at: 0.2, range: [2, 32], tolerance: 1}\n")
    done = CliRunner().invoke(app, [str(grid_file), "--results", results, "--debug", "--json", "-q"])
    assert done.exit_code == 0, (done.output, fetch(results, "SELECT DISTINCT reason FROM cells"))
    [found] = json.loads(done.stdout)["thresholds"]
    assert json.loads(done.stdout)["unmixed"] == found["networks"], "so few trajectories"
    assert found["metric"] == "alignment_f" and found["range"] == [2, 32]
    assert found["axis"] == "P" and found["networks"] == len(fetch(results, "SELECT cell_id FROM cells"))
    assert found["state"] in ("as asked", "all seeds used", "not reached")


def test_the_progress_tells_of_the_alignment(grid_file, results):
    sweep = run(load_grid(grid_file), results)
    assert sweep.queue.latest
    assert all("alignment A_f" in told for told in snapshot(sweep.queue, 1.0).last)
