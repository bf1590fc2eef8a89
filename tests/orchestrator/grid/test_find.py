"""Sweeps that search for thresholds: what `find` may say, what is trained, and that a search goes on where it stopped."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.grid.find import find_metrics
from orchestrator.grid.keys import Kind
from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.search.searchers import Searchers, values
from orchestrator.sweep import app
from sweepkit.store.store import Store
from sweepkit.store.views import connect, fetch
from trainables.networks import MLP, TwoLayer
from trainables.tasks import SameDifferent
from trainables.training import SGD

GRID = """\
sweep: small
defaults: {steps: 300, eval_every: 100, width: 64, batch: 32, test_size: 256}
grids:
  - task: same_different
    d: [4, 8]
    gamma: [1, lazy]
    seed: {range: 4}
    find: {axis: L, metric: best_test_acc, at: 0.8, range: [2, 64], tolerance: 0.2}
"""


ENDS = {"as asked", "all seeds used", "not reached", "already reached"}


@pytest.fixture
def searching(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(GRID)
    return path


def swept(path, results, *words, code=0):
    """The command in this process, without Ray; its `--json`."""
    done = CliRunner().invoke(app, [str(path), "--results", results, "--debug", "--json", "-q", *words])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout)


def trained(results):
    return dict(fetch(results, "SELECT cell_id, best_test_acc FROM cells WHERE status = 'ok'"))


def planned(results):
    return {cell for (cell,) in fetch(results, "SELECT cell_id FROM plans WHERE sweep = 'small'")}


def test_one_search_for_each_combination_of_the_other_keys(searching):
    grid = load_grid(searching)
    assert [(s.keys["d"], s.keys["gamma"]) for s in grid.searches] == [(4, "1"), (4, "lazy"), (8, "1"), (8, "lazy")]
    assert grid.fixed == ()
    for search in grid.searches:
        assert list(search.rungs) == sorted(search.rungs) and set(search.rungs) >= {2, 3, 64}
        for L, cells in search.rungs.items():
            assert [grid.cells[i].cell.seed for i in cells] == [0, 1, 2, 3]
            assert {(grid.cells[i].cell.task.L, grid.cells[i].cell.task.d) for i in cells} == {(L, search.keys["d"])}
    # Steps of a fifth at most, but where whole numbers are further apart.
    rungs = list(grid.searches[0].rungs)
    assert all(b <= 1.25 * a or b == a + 1 for a, b in pairwise(rungs))


def test_it_trains_what_it_asks_for_and_plans_no_more(searching, results):
    found = swept(searching, results)
    assert found["cells"] == found["ok"] == len(trained(results)) == sum(t["networks"] for t in found["thresholds"])
    assert planned(results) == trained(results).keys()
    assert len(trained(results)) < sum(t["equal_grid"] for t in found["thresholds"])
    for t in found["thresholds"]:
        assert t["state"] in ENDS
        if t["state"] == "as asked":
            assert t["low"] <= t["value"] <= t["high"]
    # Rich networks of so small a d compare after few symbols.
    assert next(t for t in found["thresholds"] if t["gamma"] == "1")["value"] < 20


def test_again_trains_nothing_and_finds_the_same(searching, results):
    first, rows = swept(searching, results), trained(results)
    again = swept(searching, results)
    assert again == first and trained(results) == rows


def test_stopped_at_any_number_of_networks_it_ends_where_an_undisturbed_one_does(searching, results, tmp_path):
    whole = swept(searching, results)
    pieces = str(tmp_path / "pieces")
    parts = [_limited(searching, pieces)]
    while parts[-1] is None:
        parts.append(_limited(searching, pieces))
    part = parts[-1]
    assert len(parts) > 3, "it was stopped"
    assert part["thresholds"] == whole["thresholds"]
    # Trained in other packs, to rounding.
    assert trained(pieces) == pytest.approx(trained(results), abs=1e-12)


def _limited(path, results):
    done = CliRunner().invoke(app, [str(path), "--results", results, "--debug", "--json", "-q", "--limit", "7"])
    assert done.exit_code in (0, 1)
    return json.loads(done.stdout) if done.exit_code == 0 else None


def test_a_rung_of_which_some_networks_are_there_is_completed(searching, results, tmp_path):
    """Of another grid, of fewer seeds: one further command is enough."""
    first = load_grid(searching).searches[0]
    some = tmp_path / "some.yaml"
    L = min(first.rungs, key=lambda x: abs(np.log(x / 128**0.5)))  # where a search begins: the middle of 2 and 64 on a log axis
    some.write_text(GRID.replace("    find: ", f"    L: {L}\n    # ").replace("seed: {range: 4}", "seed: 1"))
    swept(some, results)
    found = swept(searching, results)
    assert {t["state"] for t in found["thresholds"]} <= ENDS and found["missing"] == 0
    searching.write_text(GRID.replace("seed: {range: 4}", "seed: {range: 6}"))
    wider = swept(searching, results)
    assert {t["state"] for t in wider["thresholds"]} <= ENDS and wider["missing"] == 0


def test_cells_that_a_search_and_a_block_want_are_trained_once(searching, results, monkeypatch):
    from orchestrator.running.worker import PackWork

    commit, committed = PackWork.commit, []
    monkeypatch.setattr(
        PackWork, "commit", lambda self, *a: committed.extend(p.cell_id for p in self.members) or commit(self, *a)
    )
    L = list(load_grid(searching).searches[0].rungs)
    searching.write_text(GRID + f"  - {{task: same_different, d: 4, gamma: 1, L: {L}, seed: [0, 1]}}\n")
    found = swept(searching, results)
    assert len(committed) == len(set(committed)) == found["cells"] == found["ok"]


def test_what_another_sweep_trained_meanwhile_is_taken(searching, results, monkeypatch):
    whole = swept(searching, results)
    monkeypatch.setattr(Store, "statuses", lambda self: {})  # as it was when this sweep began
    monkeypatch.setattr("orchestrator.running.worker.PackWork.advance", lambda *a: pytest.fail("trained again"))
    grid = load_grid(searching)
    searchers = Searchers(grid, Store(results), {}, lambda cells: list(cells))
    assert searchers.start() == [] and searchers.n_open == 0
    assert len(searchers.asked) == whole["cells"]


def test_networks_of_another_grid_are_taken(searching, results, tmp_path):
    asked = load_grid(searching)
    plain = tmp_path / "plain.yaml"
    rungs = list(asked.searches[0].rungs)
    plain.write_text(GRID.replace("    find: ", "    # ").replace("d: [4, 8]", f"d: [4, 8]\n    L: {rungs}"))
    swept(plain, results)
    everything = trained(results)
    assert len(everything) == len(asked.cells)
    found = swept(searching, results)
    assert trained(results) == everything
    # The plan is the searches' own; both grids have one name, and the later whole one counts.
    assert planned(results) < everything.keys() and len(planned(results)) == found["cells"]


def test_cells_outside_of_searches_are_trained_beside_them(searching, results):
    searching.write_text(GRID + "  - {task: same_different, d: 4, gamma: 1, L: [2, 50], seed: 0}\n")
    grid = load_grid(searching)
    assert [grid.cells[i].cell.task.L for i in grid.fixed] == [2, 50]
    found = swept(searching, results)
    assert {grid.cells[i].cell_id for i in grid.fixed} <= planned(results) == trained(results).keys()
    assert found["cells"] == len(planned(results))


def test_a_network_that_fails_has_no_value_and_the_search_goes_on(searching, results, monkeypatch):
    from orchestrator.running.worker import PackWork

    advance = PackWork.advance

    def fails(self, *args):
        if any(p.cell.seed == 1 for p in self.members):
            raise RuntimeError("seed 1 is not wanted")
        return advance(self, *args)

    monkeypatch.setattr(PackWork, "advance", fails)
    found = swept(searching, results, code=1)
    assert found["failed"] > 0 and found["missing"] == 0
    assert {t["state"] for t in found["thresholds"]} <= ENDS


def test_values_are_of_trained_cells_alone(searching, results):
    swept(searching, results, "--limit", "3", code=1)
    rows = trained(results)
    assert values(results, "best_test_acc", [*rows, "nothing"]) == rows
    assert values(results, "best_test_error", [*rows]) == {cell: 1 - acc for cell, acc in rows.items()}


def test_dry_run_says_the_searches_and_starts_nothing(searching, results):
    done = CliRunner().invoke(app, [str(searching), "--results", results, "--dry-run"])
    assert done.exit_code == 0 and not Path(results).exists()
    assert "4 thresholds to find (L at best_test_acc = 0.8 in 2..64)" in done.output
    assert "at most 304." in " ".join(done.output.split())


def test_dry_run_says_the_searches_to_programs_too(searching, results):
    done = CliRunner().invoke(app, [str(searching), "--results", results, "--dry-run", "--json"])
    said, cells = json.loads(done.stdout), load_grid(searching).cells
    found = said["searches"]
    assert said["cells"] < found["networks"] < found["most_networks"] == len(cells)
    assert found["n_searches"] == 4 and found["wall_s"] >= said["wall_s"]


def test_dry_run_says_nothing_of_searches_that_have_ended(searching, results):
    swept(searching, results)
    dry = [str(searching), "--results", results, "--dry-run"]
    assert "will ask for" not in (done := CliRunner().invoke(app, dry)).output.lower() and "4 known" in done.output
    assert json.loads(CliRunner().invoke(app, [*dry, "--json"]).stdout)["searches"]["networks"] == 0


@pytest.mark.parametrize(
    ("find", "words"),
    [
        ("L", ["must hold keys and values", "axis: L"]),
        ("{at: 0.8, range: [2, 9]}", ["does not say axis"]),
        ("{axis: L}", ["does not say at, range"]),
        ("{axis: l, at: 0.8, range: [2, 9]}", ["did you mean 'L'"]),
        ("{axis: seed, at: 0.8, range: [2, 9]}", ["axis = 'seed'"]),
        ("{axis: dtype, at: 0.8, range: [2, 9]}", ["axis = 'dtype'"]),
        ("{axis: d, at: 0.8, range: [2, 9]}", ["searches along d", "leave d out"]),
        ("{axis: L, at: 0.8, range: [2, 9], metrik: best_test_acc}", ["'metrik'", "did you mean 'metric'"]),
        ("{axis: L, at: 0.8, range: [2, 9], metric: best_test_ac}", ["did you mean 'best_test_acc'"]),
        (
            "{axis: L, at: 0.8, range: [2, 9], metric: alignment_f}",
            ["these networks do not have it", " they have best_test_acc"],
        ),
        ("{axis: L, at: 0.8, range: [2, 9], metric: seconds}", ["metric = 'seconds'"]),
        ("{axis: steps, at: 0.8, range: [100, 900]}", ["axis = 'steps'"]),
        ("{axis: L, at: 85, range: [2, 9]}", ["at = 85", "lies between 0 and 1"]),
        ("{axis: L, at: high, range: [2, 9]}", ["at = 'high'", "must be a number"]),
        ("{axis: L, at: 0.8, range: 9}", ["least and the greatest"]),
        ("{axis: L, at: 0.8, range: [2, 9, 10]}", ["least and the greatest"]),
        ("{axis: L, at: 0.8, range: [9, 2]}", ["must rise"]),
        ("{axis: L, at: 0.8, range: [1, 9]}", ["L = 1", ">= 2"]),
        ("{axis: L, at: 0.8, range: [2.5, 9]}", ["L = 2.5", "whole"]),
        ("{axis: L, at: 0.8, range: [2, many]}", ["L = 'many'"]),
        ("{axis: L, at: 0.8, range: [2, 9], tolerance: 0}", ["tolerance = 0"]),
        ("{axis: L, at: 0.8, range: [2, 9], tolerance: 5%}", ["tolerance = '5%'"]),
        ("{axis: L, at: 0.8, range: [2, 9], falling: down}", ["true or false"]),
        ("{axis: L, at: 0.8, range: [2, 1e300]}", ["64 bits"]),
        ("{axis: sigma2, at: 0.8, range: [0, 4]}", ["must rise from a value > 0"]),
        ("{axis: L, at: 0.8, range: [2, 9]}\n    zip: [[L, d]]", ["zip names L", "moves alone"]),
    ],
)
def test_what_find_may_not_say(tmp_path, find, words):
    path = tmp_path / "bad.yaml"
    block = GRID[: GRID.index("    find:")]
    path.write_text(f"{block}    find: {find}\n")
    with pytest.raises(GridError) as error:
        load_grid(path)
    for word in words:
        assert word in str(error.value)
    assert "does not say L" not in str(error.value), "a find that is wrong asks for nothing else"
    assert "bad.yaml:8" in str(error.value) or "bad.yaml:9" in str(error.value)


def test_find_and_the_command_line(searching):
    with pytest.raises(GridError, match="searches along L"):
        load_grid(searching, ["L=2,4"])
    with pytest.raises(GridError, match="such as d, can be given on the command line"):
        load_grid(searching, ["find=L"])
    with pytest.raises(GridError) as error:
        load_grid(searching, ["hops=3"])
    assert "find" not in str(error.value) and "legal keys of" in str(error.value)
    assert len(load_grid(searching, ["d=4", "gamma=1"]).searches) == 1


def test_defaults_may_say_the_searched_key_for_other_blocks(searching):
    searching.write_text(GRID.replace("{steps: 300,", "{steps: 300, L: 5,"))
    assert len(load_grid(searching).searches[0].rungs) > 5


def test_gamma_may_be_searched(searching):
    searching.write_text(
        GRID.replace("    gamma: [1, lazy]\n", "    L: 4\n").replace("axis: L,", "axis: gamma,").replace("[2, 64]", "[0.001, 1]")
    )
    search = load_grid(searching).searches[0]
    assert min(search.rungs) == 0.001 and max(search.rungs) == 1 and "gamma" not in search.keys


def test_the_report_shows_thresholds_as_a_table(searching, results):
    done = CliRunner().invoke(app, [str(searching), "--results", results, "--debug", "-q", "d=4"])
    assert done.exit_code == 0
    for word in ("L*", "95% interval", "networks", "a grid", "lazy"):
        assert word in done.stdout
    assert connect(results).execute("SELECT count(*) FROM cells").fetchone()[0] > 0


AT_EQUILIBRIUM = """\
sweep: small
grids:
  - {{task: he3, network: erf2, d: 4, width: 4, kappa: 1, seed: 0, find: {{axis: P, metric: {metric}, at: 0.5, range: [8, 64]}}}}
"""


@pytest.mark.parametrize(("metric", "falling"), [("alignment_f", False), ("test_mse", True)])
def test_which_way_a_metric_goes_is_known(searching, metric, falling):
    searching.write_text(AT_EQUILIBRIUM.format(metric=metric))
    assert load_grid(searching).searches[0].find.falling is falling


def test_a_metric_that_labels_do_not_allow_is_refused(searching):
    searching.write_text(AT_EQUILIBRIUM.format(metric="final_test_acc"))
    with pytest.raises(GridError, match="metric = 'final_test_acc'") as refused:
        load_grid(searching)
    assert "they have alignment_f" in str(refused.value) and "loss" not in str(refused.value)


@pytest.mark.parametrize(("network", "refused"), [("erf2", True), ("[erf2, relu2]", True), ("erf3, width1: 4", False)])
def test_a_metric_of_a_layer_that_is_not_there_is_refused(searching, network, refused):
    searching.write_text(AT_EQUILIBRIUM.format(metric="n_specialised_2").replace("erf2", network))
    if not refused:
        assert load_grid(searching).searches[0].find.metric == "n_specialised_2"
        return
    with pytest.raises(
        GridError, match="'n_specialised_2': networks with network = 'erf2' have none; those of this block have align"
    ):
        load_grid(searching)


def test_readouts_are_searched_in_any_network_that_keeps_neurons():
    class Own(TwoLayer):
        name = "own"

    kind = Kind(SameDifferent, (TwoLayer, Own, MLP), SGD)
    assert {"readout_ratio", "alignment_pos"} < set(find_metrics(kind, **Own.traits()))
    assert "readout_ratio" not in find_metrics(kind, **MLP.traits())


@pytest.mark.parametrize(("loss", "metric"), [("mse", "final_train_loss"), ("cross_entropy", "test_mse")])
def test_a_metric_of_another_loss_is_refused(searching, loss, metric):
    words = AT_EQUILIBRIUM.format(metric=metric).replace("task: he3", f"task: parity2, loss: {loss}")
    searching.write_text(words)
    with pytest.raises(GridError, match=f"metric = '{metric}': networks with loss = '{loss}' have none"):
        load_grid(searching)
    searching.write_text(words.replace(metric, "final_test_acc"))
    assert load_grid(searching).searches
    if loss == "mse":  # so it is where the grid does not say
        searching.write_text(words.replace(", loss: mse", ""))
        with pytest.raises(GridError, match="networks with loss = 'mse' have none"):
            load_grid(searching)


def test_the_table_of_a_search_under_way_promises_nothing(searching, results):
    """Three seeds of one rung tell on which side of it the threshold is, and no more."""
    done = CliRunner().invoke(app, [str(searching), "--results", results, "--debug", "-q", "--limit", "3"])
    rows = [line for line in done.output.splitlines() if "searching" in line and "gamma" not in line]
    assert len([row for row in rows if row.lstrip()[0].isdigit()]) == 4
    assert not any(word in done.output for word in ("a grid with the same spacing", ">", "<="))


def test_searches_of_several_blocks_are_told_apart_by_the_same_keys(searching, results):
    block = GRID[GRID.index("  - task") :].replace("d: [4, 8]", "d: 4").replace("gamma: [1, lazy]", "gamma: 1")
    other = block.replace("d: 4", "d: 8").replace("at: 0.8", "at: 0.75")
    searching.write_text(GRID[: GRID.index("  - task")] + block + other)
    done = CliRunner().invoke(app, [str(searching), "--results", results, "--debug", "-q", "--limit", "1"])
    heads = [line.split() for line in done.output.splitlines() if "L*" in line]
    assert [head[0] for head in heads] == ["d", "d"]
