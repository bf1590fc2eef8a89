"""Sweeps of parts of a user's own: the examples, what is refused, and what is trained again and why."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from sweepkit.store.files import open_files
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import connect, declared
from tests.own_parts import (
    BY_LION,
    EXAMPLES,
    GATED,
    METRIC,
    NETWORK,
    OPTIMISER,
    PARITY,
    TWO_LAYERS,
    keep_registries,
    line_of,
    own_grid,
)
from trainables.checking.training import check_training
from trainables.engines import ENGINES

needs_stacked = pytest.mark.skipif("stacked" not in ENGINES, reason="trains networks of every kind")
KEPT = "best_test_acc, final_train_loss, readout_ratio, activation_change"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    keep_registries(monkeypatch)


def rows(results, columns, where="true"):
    return connect(results).execute(f"select {columns} from cells where {where} order by cell_id").fetchall()


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_metric_is_measured_found_done_and_declared(tmp_path, sweep_here, results):
    grid = own_grid(tmp_path)
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    assert "4 to train\n" in done.stderr
    values = [value for (value,) in rows(results, "sparsity")]
    assert len(values) == 4 and all(0.2 < value < 0.8 for value in values)  # ReLU neurons are inactive half of the time
    told = declared(results)["sparsity"]
    assert (told.title, told.low, told.high, told.role_of_column) == ("share of inactive neurons", 0, 1, "metric")
    again = sweep_here(grid, "--debug")
    assert again.returncode == 0 and "4 in the store, 0 to train\n" in again.stderr


def test_networks_without_the_metric_are_trained_again_and_keep_their_numbers(tmp_path, sweep_here, results):
    grid = edited(own_grid(tmp_path), ", sparsity", "")
    assert sweep_here(grid, "--debug").returncode == 0
    before = rows(results, f"cell_id, {KEPT}")
    assert "sparsity" not in declared(results)
    edited(grid, "[curves]", "[curves, sparsity]")
    done = sweep_here(grid, "--debug")
    assert "4 in the store, 4 to train, 4 of them again: stored without sparsity\n" in done.stderr
    after = rows(results, f"cell_id, {KEPT}")
    assert [row[0] for row in after] == [row[0] for row in before]
    # float32: sums in another order, as a pack may be another.
    np.testing.assert_allclose([row[1:] for row in after], [row[1:] for row in before], rtol=1e-5)
    assert all(value is not None for (value,) in rows(results, "sparsity"))
    assert "0 to train\n" in sweep_here(grid, "--debug").stderr


def test_an_edited_metric_is_measured_again_and_the_networks_stay_the_same(tmp_path, sweep_here, results):
    grid = own_grid(tmp_path)
    assert sweep_here(grid, "--debug").returncode == 0
    before = dict(rows(results, "cell_id, sparsity"))
    edited(tmp_path / "own_metric.py", "float((probe.features == 0)", "float((probe.features > 0)")
    done = sweep_here(grid, "--debug")
    assert "4 to train, 4 of them again: stored with sparsity of another version of its file\n" in done.stderr
    after = dict(rows(results, "cell_id, sparsity"))
    assert after.keys() == before.keys()
    assert all(after[cell_id] == pytest.approx(1 - value) for cell_id, value in before.items())
    assert "0 to train\n" in sweep_here(grid, "--debug").stderr


def test_what_was_measured_is_measured_again_with_what_is_new(tmp_path, sweep_here, results):
    grid = own_grid(tmp_path)
    assert sweep_here(grid, "--debug").returncode == 0
    before = rows(results, "cell_id, sparsity")
    more = (
        METRIC.split("@metric")[0]
        + '@metric(title="mean output")\ndef mean_output(probe):\n    return float(probe.outputs.mean())\n'
    )
    (tmp_path / "more.py").write_text(more)
    edited(edited(grid, "[own_metric.py]", "[own_metric.py, more.py]"), "[curves, sparsity]", "[mean_output]")
    assert "4 of them again: stored without mean_output\n" in sweep_here(grid, "--debug").stderr
    assert rows(results, "cell_id, sparsity") == [(cell_id, pytest.approx(value)) for cell_id, value in before]
    edited(grid, "[mean_output]", "[sparsity]")
    assert "0 to train\n" in sweep_here(grid, "--debug").stderr


OTHER = (
    METRIC.split("@metric")[0]
    + """@metric(title="mean output")
def mean_output(probe):
    {}
    return float(probe.outputs.mean())
"""
)
AT_THE_END = "if len(probe.targets) == 32: raise KeyError('late; no score')"


def two_grids(folder, extra=""):
    """Two grids of the same networks, each with a metric of its own file; gives both."""
    for name in ("one", "other"):
        (folder / name).mkdir(parents=True)
    one, other = own_grid(folder / "one"), own_grid(folder / "other", metric=OTHER.format(extra))
    edited(other, "[curves, sparsity]", "[curves, mean_output]")
    return [edited(grid, "test_size: 64", "test_size: 32") for grid in (one, other)]


def test_a_metric_of_another_grids_file_is_kept(tmp_path, sweep_here, results):
    one, other = two_grids(tmp_path)
    assert sweep_here(one, "--debug").returncode == 0
    before = rows(results, "cell_id, sparsity")
    assert "4 of them again: stored without mean_output\n" in sweep_here(other, "--debug").stderr
    assert rows(results, "cell_id, sparsity") == before  # not measured again: to the bit
    assert all(value is not None for (value,) in rows(results, "mean_output"))
    assert declared(results)["sparsity"].title == "share of inactive neurons"
    for grid in (one, other):
        assert "0 to train\n" in sweep_here(grid, "--debug").stderr
    compact(open_files(results), now=True)
    assert rows(results, "cell_id, sparsity") == before
    edited(one.parent / "own_metric.py", "float((probe.features == 0)", "float((probe.features > 0)")
    assert "4 of them again: stored with sparsity of another version" in sweep_here(one, "--debug").stderr
    assert rows(results, "cell_id, 1 - sparsity") == [(cell_id, pytest.approx(value)) for cell_id, value in before]
    assert "0 to train\n" in sweep_here(other, "--debug").stderr
    assert sweep_here(one, "--debug", "--force").returncode == 0
    assert "0 to train\n" in sweep_here(other, "--debug").stderr


def test_another_grids_metric_that_failed_is_none_of_this_sweep(tmp_path, sweep_here, results):
    one, other = two_grids(tmp_path, AT_THE_END)
    assert sweep_here(other, "--debug").returncode == 1
    done = sweep_here(edited(one, "[curves, sparsity]", "[curves]"), "--debug")
    assert "0 to train\n" in done.stderr and done.returncode == 0 and "but metric" not in done.stdout
    done = sweep_here(edited(one, "[curves]", "[curves, sparsity, weights]"), "--debug")
    assert "4 to train" in done.stderr and done.returncode == 0 and "but metric" not in done.stdout
    failed = sweep_here(other, "--debug")
    assert "0 to train\n" in failed.stderr and failed.returncode == 1
    assert "4 ok, but metric mean_output failed: KeyError: 'late; no score'\n" in failed.stdout


@pytest.mark.parametrize(
    ("once_trained", "said"),
    [
        ("raise KeyError('late')", "KeyError: 'late'"),
        ("raise SystemExit", "SystemExit"),
        ("return 7.0", "ValueError: it gave 7, which is not between 0 and 1"),
        ("return float('inf')", "ValueError: it gave inf; wanted a finite number, or None where it is undefined"),
    ],
)
def test_a_metric_that_fails_once_trained_is_told_and_trains_nothing_again(tmp_path, sweep_here, results, once_trained, said):
    """The check before training looks at 64 examples, the last evaluation at 32."""
    late = f"    if len(probe.targets) == 32:\n        {once_trained}\n    return None if"
    grid = edited(own_grid(tmp_path, metric=METRIC.replace("    return None if", late)), "test_size: 64", "test_size: 32")
    done = sweep_here(grid, "--debug")
    assert done.returncode == 1
    assert f"4 ok, but metric sparsity failed: {said}\n" in done.stdout
    again = sweep_here(grid, "--debug")
    assert "0 to train\n" in again.stderr and again.returncode == 1 and said in again.stdout
    (tmp_path / "own_metric.py").write_text(METRIC)
    mended = sweep_here(grid, "--debug")
    assert mended.returncode == 0 and "but metric" not in mended.stdout
    assert all(value is not None for (value,) in rows(results, "sparsity"))


def test_several_reasons_are_counted(tmp_path, sweep_here, results):
    grid = own_grid(tmp_path)
    assert sweep_here(grid, "--debug", "d=6").returncode == 0
    edited(grid, "[curves, sparsity]", "[curves]")
    assert sweep_here(grid, "--debug").returncode == 0
    edited(grid, "[curves]", "[curves, sparsity, weights, neurons]")
    said = sweep_here(grid, "--dry-run").stderr
    assert "4 of them again: 2 stored without neurons and weights, 2 stored without neurons and sparsity and weights" in said
    forced = sweep_here(edited(grid, "[curves, sparsity, weights, neurons]", "[curves]"), "--force", "--dry-run").stderr
    assert "4 to train, 4 of them again\n" in forced


def test_a_search_along_a_metric_of_ones_own(tmp_path, sweep_here, results):
    find = "find: {axis: d, metric: sparsity, at: 0.5, range: [4, 8], tolerance: 0.5}, gamma: 1, seed: {range: 4}, save: []"
    grid = own_grid(
        tmp_path,
        blocks=f"  - {{task: parity, {find}}}\n",
        metric=METRIC.replace("high=1)", 'high=1, better="higher")').replace("float(", "float(probe.cell.task.d > 5) or float("),
    )
    assert load_grid(grid).cells[0].save == {"sparsity"}
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    assert "d at sparsity = 0.5 in 4..8" in done.stderr
    assert {value for (value,) in rows(results, "sparsity", "d > 5")} == {1.0}
    assert "0 to train" in sweep_here(grid, "--debug").stderr


NEURONS = """
from typing import ClassVar
import numpy as np
from trainables.networks import TwoLayer

class Small(TwoLayer):
    name: ClassVar[str] = "small"

    def init(self, rng, cell):
        drawn = super().init(rng, cell)
        return {"w": drawn["w"], "a": drawn["a"] * np.float32(0.5)}
"""


def test_a_network_derived_from_relu2_has_its_neurons_and_weights_saved(tmp_path, sweep_here, results):
    blocks = "  - {task: parity, d: 6, gamma: 1, network: [relu2, small], seed: 0, save: [curves, neurons, weights]}\n"
    grid = own_grid(tmp_path, network=NEURONS, blocks=blocks)
    assert sweep_here(grid, "--debug").returncode == 0
    assert connect(results).execute("select count(distinct cell_id), count(*) from neurons").fetchall() == [(2, 16)]
    assert all(ratio is not None for (ratio,) in rows(results, "readout_ratio"))
    assert "0 to train" in sweep_here(grid, "--debug").stderr


DRAWS = line_of(PARITY, "def train_examples")
BAD = [
    ("task", PARITY.replace("1) > 0", "1)"), f"own_task.py:{DRAWS}: task parity: train_examples gave labels -1"),
    ("network", NETWORK.replace('@ parameters["a"]', '@ parameters["a"][:, None]'), "network gated: apply gave outputs of shape"),
    ("optimiser", OPTIMISER.replace("sign_(), rate", "sign_().mean(0), rate"), "training lion: update gave a network other "),
    ("metric", METRIC.replace("(probe.features == 0).mean()", "7"), "metric sparsity: gave 7; wanted a number between its"),
]  # fmt: skip


@pytest.mark.parametrize("options", [["--debug"], ["--dry-run"], []], ids=["debug", "dry-run", "ray"])
@pytest.mark.parametrize(("part", "source", "said"), BAD, ids=[part for part, _, _ in BAD])
def test_bad_parts_exit_2_before_anything_is_written(tmp_path, sweep_here, results, monkeypatch, part, source, said, options):
    monkeypatch.setattr("ray.init", lambda **how: pytest.fail("Ray was started"))
    blocks = TWO_LAYERS + {"network": GATED, "optimiser": BY_LION}.get(part, "")
    done = sweep_here(own_grid(tmp_path, blocks=blocks, **{part: source}), *options)
    assert done.returncode == 2
    assert said in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
    assert not Path(results).exists()


def test_a_network_that_fails_at_one_width_is_told_before_training(tmp_path, sweep_here):
    fails = NETWORK.replace('@ parameters["a"]', '@ parameters["a" if self.width != 6 else "b"]')
    grid = own_grid(tmp_path, network=fails, blocks=GATED.replace("seed: 0", "width: [4, 6, 8], seed: 0"))
    said = sweep_here(grid, "--dry-run")
    assert said.returncode == 2 and "network gated: apply raised KeyError: 'b'" in said.stderr and "width = 6" in said.stderr


def test_parts_whose_networks_are_all_done_are_not_looked_at(tmp_path, sweep_here, results, monkeypatch):
    grid = own_grid(tmp_path)
    assert sweep_here(grid, "--debug").returncode == 0
    monkeypatch.setattr("orchestrator.plan.checks.check_task", None)
    assert sweep_here(grid, "--debug").returncode == 0


TRAIN = """
import pickle
from orchestrator.grid.own.files import register_user_file
from orchestrator.running.worker import PackWork, Provenance
for file in pickle.load(open("files", "rb")):
    register_user_file(file)
members = pickle.loads(pickle.load(open("pack", "rb")))
work = PackWork("pack", members, ENGINE, "cpu")
while not work.advance(1.0, Provenance(RESULTS, "abc")):
    pass
"""


IN_STACKS = [pytest.param(blocks, marks=needs_stacked) for blocks in (GATED, BY_LION)]


@pytest.mark.parametrize("blocks", [TWO_LAYERS, *IN_STACKS], ids=["relu2", "gated", "lion"])
def test_a_worker_that_has_only_the_text_of_the_files_trains(tmp_path, results, blocks):
    grid = load_grid(own_grid(tmp_path, blocks=blocks))
    first = [p for p in grid.cells if p.cell.shape() == grid.cells[0].cell.shape()]
    for name in ("own_task", "own_network", "own_optimiser", "own_metric"):
        (tmp_path / f"{name}.py").unlink()
    (tmp_path / "pack").write_bytes(pickle.dumps(pickle.dumps(first)))
    (tmp_path / "files").write_bytes(pickle.dumps(grid.user_files))
    Store(results).prepare()
    engine = "batched" if blocks is TWO_LAYERS else "stacked"
    code = TRAIN.replace("ENGINE", repr(engine)).replace("RESULTS", repr(results))
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=_importing(), check=True)
    found = rows(results, "cell_id, status, sparsity")
    assert [row[0] for row in found] == sorted(p.cell_id for p in first)
    assert all(status == "ok" and value is not None for _, status, value in found)


def _importing():
    return os.environ | {"PYTHONPATH": str(EXAMPLES.parent)}


@needs_stacked
def test_the_example_trains_two_networks_side_by_side(sweep_here, results):
    overrides = ["steps=100", "eval_every=50", "seed=0", "L=4", "save=curves,sparsity,richness"]
    done = sweep_here(EXAMPLES / "own_network_grid.yaml", *overrides, "--debug")
    assert done.returncode == 0, done.stderr
    found = {(network, gate): value for network, gate, value in rows(results, "coalesce(network, 'relu2'), gate, sparsity")}
    assert found.keys() == {("relu2", None), ("gated", "linear"), ("gated", "relu"), ("gated", "sigmoid")}
    assert found["gated", "linear"] == found["gated", "sigmoid"] == 0
    assert 0.2 < found["gated", "relu"] < 0.8 and 0.2 < found["relu2", None] < 0.8
    assert declared(results)["gate"].title == "gate"
    laziness = {gate: value for gate, value in rows(results, "gate, d_lr")}
    assert all(0 < value < 1 for value in laziness.values()) and laziness["relu"] != laziness["sigmoid"]
    assert "0 to train" in sweep_here(EXAMPLES / "own_network_grid.yaml", *overrides, "--debug").stderr


def test_the_examples_are_short():
    assert len(NETWORK.splitlines()) <= 40
    grid = load_grid(EXAMPLES / "own_network_grid.yaml")
    assert len(grid.cells) == 16
    assert {planned.cell.network.name for planned in grid.cells} == {"relu2", "gated"}
    assert all(planned.cell_id == planned.cell.cell_id and planned.save == {"curves", "sparsity"} for planned in grid.cells)


def test_an_edited_network_gives_new_networks_and_an_edited_metric_does_not(tmp_path):
    def ids(**files):
        return [p.cell_id for p in load_grid(own_grid(tmp_path, blocks=GATED, **files)).cells]

    assert ids() == ids() == ids(metric=METRIC + "\n# edited\n")
    assert set(ids()).isdisjoint(ids(network=NETWORK + "\n# edited\n"))
    assert ids() == ids(optimiser=OPTIMISER + "\n# edited\n")  # which trains none of them


def test_an_edited_optimiser_gives_new_networks_wherever_it_lies(tmp_path):
    def ids(folder, **files):
        (tmp_path / folder).mkdir(exist_ok=True)
        return [p.cell_id for p in load_grid(own_grid(tmp_path / folder, blocks=BY_LION, **files)).cells]

    assert ids("here") == ids("there") == ids("here", network=NETWORK + "\n# edited\n")
    assert set(ids("here")).isdisjoint(ids("here", optimiser=OPTIMISER + "\n# edited\n"))


OWN_SIGNS = """
from typing import Annotated, ClassVar
from pydantic import Field
from trainables.training import Minibatch

class Signs(Minibatch):
    name: ClassVar[str] = "signs"
    is_normalised: ClassVar[bool] = True
    strength: Annotated[float, Field(gt=0, title="strength of a step")] = 1.0

    def update(self, theta, gradient, state, rate, free, scheduled):
        theta.addcmul_(gradient.sign(), rate, value=-self.strength)
"""


@needs_stacked
def test_an_own_optimiser_trains_as_one_of_the_package_and_readers_know_its_keys_without_its_file(tmp_path, sweep_here, results):
    block = "  - {task: parity, d: [6, 8], gamma: 1, training: [signsgd, signs], base_lr: 0.01, seed: {range: 2}}\n"
    grid = own_grid(tmp_path, optimiser=OWN_SIGNS, blocks=block)
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    assert "0 to train" in sweep_here(grid, "--debug").stderr
    (tmp_path / "own_optimiser.py").unlink()
    trained = {
        training: connect(results).execute(
            "select d, seed, engine, strength, final_train_loss, best_test_acc, readout_ratio from cells "
            "where training = ? order by d, seed", [training],
        ).fetchall()
        for training in ("signs", "signsgd")
    }  # fmt: skip
    assert [(*row[:3], row[3]) for row in trained["signs"]] == [(d, s, "stacked", 1.0) for d in (6, 8) for s in (0, 1)]
    assert [row[:3] + row[4:] for row in trained["signs"]] == [row[:3] + row[4:] for row in trained["signsgd"]]
    assert {row[3] for row in trained["signsgd"]} == {None}
    told = declared(results)["strength"]
    assert (told.title, told.part, told.default, told.of) == ("strength of a step", "training", 1.0, ("signs",))


@needs_stacked
def test_networks_of_an_own_optimiser_are_those_that_are_trained_alone_or_go_on_after_a_stop(tmp_path):
    cells = [p.cell for p in load_grid(own_grid(tmp_path, blocks=BY_LION)).cells]
    pack = [cell for cell in cells if cell.shape() == cells[0].shape()]
    assert len(pack) == 2
    assert check_training(pack) == []


HAND_WRITTEN = """
from typing import ClassVar
from trainables.training.sgd import SGD

class Twice(SGD):
    name: ClassVar[str] = "twice"

    def update(self, theta, gradient, state, rate, free, scheduled):
        theta.addcmul_(gradient, rate, value=-2)
"""


def test_engines_that_write_out_the_steps_of_sgd_train_no_own_optimiser(tmp_path):
    block = "  - {task: same_different, L: 4, d: 6, gamma: 1, training: [sgd, twice], seed: 0}\n"
    by_sgd, by_twice = (p.cell for p in load_grid(own_grid(tmp_path, optimiser=HAND_WRITTEN, blocks=block)).cells)
    engines = [[name for name, engine in ENGINES.items() if engine.trains(cell)] for cell in (by_sgd, by_twice)]
    assert {"gram", "batched", "stacked"} <= {*engines[0]} and engines[1] == ["stacked"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            "training: lions",
            "own.yaml:8: training = 'lions': must be one of adam, adamw, gd, langevin, lion, ridge, sgd, signsgd",
        ),
        ("training: lion, memry: 1", "unknown key 'memry'; did you mean 'memory'? legal keys of parity: "),
        ("training: adam, memory: 0.5", "unknown key 'memory'; memory is a key of training lion, not of adam; legal keys"),
        ("training: lion, memory: 2", "memory = 2: must be a number >= 0 and < 1"),
        ("training: lion, momentum: 0.5", "momentum is a key of training sgd, not of lion;"),
    ],
)
def test_mistakes_around_an_own_optimiser_are_told(tmp_path, sweep_here, block, said):
    done = sweep_here(own_grid(tmp_path, blocks=f"  - {{task: parity, d: 6, gamma: 1, seed: 0, {block}}}\n"), "--dry-run")
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_an_optimiser_of_another_grid_is_unknown_here(tmp_path):
    own_grid(tmp_path)
    path = tmp_path / "own.yaml"
    load_grid(path)
    edited(path, "trainings: [own_optimiser.py]\n", "")
    edited(path, "gamma: 1,", "gamma: 1, training: lion,")
    with pytest.raises(GridError, match="training = 'lion': must be one of adam, adamw, gd, langevin, ridge, sgd, signsgd"):
        load_grid(path)


def test_a_network_of_ones_own_may_leave_a_parameter_out(tmp_path):
    source = NETWORK.replace("    gate: ", '    rank: Annotated[int | None, Field(ge=1, title="rank")] = None\n    gate: ')
    cells = [p.cell for p in load_grid(own_grid(tmp_path, network=source, blocks=GATED)).cells]
    cells += [p.cell for p in load_grid(edited(tmp_path / "own.yaml", "gated,", "gated, rank: 2,")).cells]
    assert [cell.columns()["rank"] for cell in cells] == [None] * 4 + [2] * 4


def test_under_debug_a_traceback_is_printed_once_for_all_networks_that_fail_alike(tmp_path, sweep_here):
    """Networks that failed together are trained again in smaller packs. The network raises once the grid has been checked."""
    gate = '        gate = x @ parameters["v"]\n'
    raising = NETWORK.replace(gate, f'        if self.trains():\n            raise ValueError("cannot go on")\n{gate}')
    raising += """
    def trains(self) -> bool:
        import traceback
        return any(frame.name == "advance" for frame in traceback.extract_stack())
"""
    grid = own_grid(tmp_path, network=raising, blocks=GATED.replace(", sparsity", ""))
    done = sweep_here(grid, "--debug")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("Traceback (most recent call last)") == 1, done.stderr
    line = line_of(raising, "raise ValueError")
    assert re.search(rf'own_network.py", line {line}, in features', done.stderr)
    [reason] = re.findall(r"\n  (\d+ failed: .*)", done.stdout)
    assert re.fullmatch(r"(\d+) failed: ValueError: cannot go on.* \(log: \S+/logs/\w+\.txt\)", reason), reason
    n = reason.split()[0]
    once_more = sweep_here(grid, "--debug").stderr
    assert f"{n} networks of these failed earlier and are left alone: --retry-failed trains them again, and prints" in once_more
    assert "Traceback" not in once_more
    assert sweep_here(grid, "--debug", "--retry-failed").stderr.count("Traceback (most recent call last)") == 1


def test_a_misspelled_key_of_an_own_network_names_that_network(tmp_path, sweep_here):
    grid = own_grid(tmp_path, blocks=GATED.replace("gate:", "gat:"))
    assert "did you mean 'gate'? legal keys of parity with network gated: " in sweep_here(grid, "--dry-run").stderr


@pytest.mark.parametrize(
    ("old", "new", "raised"),
    [
        ("return x, x[:, symbols]", "return x, x[:, symbols + self.d]", "IndexError: index"),
        ("import numpy as np", "import numpy as np\n\nnp.zeros(2)[3]", "IndexError: index 3 is out of bounds"),
    ],
    ids=["in the trial", "when its file is read"],
)
def test_debug_shows_the_traceback_of_a_part_that_fails_before_training(tmp_path, sweep_here, old, new, raised):
    assert PARITY.count(old) == 1
    grid = own_grid(tmp_path, task=PARITY.replace(old, new))
    done = sweep_here(grid)
    assert done.returncode == 2 and raised in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("--debug shows the traceback")
    done = sweep_here(grid, "--debug")
    trace, last = done.stderr.rsplit("\n", 2)[0], done.stderr.splitlines()[-1]
    assert done.returncode == 2 and "Traceback (most recent call last)" in trace and raised in trace
    assert new.splitlines()[-1].strip() in trace  # the line of the user's own file
    assert raised in last and "--debug" not in done.stderr
