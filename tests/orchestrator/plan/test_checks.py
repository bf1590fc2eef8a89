"""A user's own files are looked at first: a line for each problem says where, what was given, and what is wanted."""

import numpy as np
import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.plan import checks
from orchestrator.plan.checks import MOST_SETTINGS, check_own_parts
from tests.own_parts import BY_LION, GATED, METRIC, NETWORK, OPTIMISER, PARITY, TWO_LAYERS, keep_registries, line_of, own_grid
from trainables.checking.part import Finding


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    keep_registries(monkeypatch)


def checked(folder, **files):
    grid = load_grid(own_grid(folder, **{"blocks": TWO_LAYERS + GATED} | files))
    return check_own_parts(grid, range(len(grid.cells)))


def refused(folder, **files):
    with pytest.raises(GridError) as caught:
        checked(folder, **files)
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def test_the_examples_are_sound(tmp_path):
    assert checked(tmp_path, blocks=TWO_LAYERS + GATED + BY_LION) == []


def test_a_grid_without_files_of_its_own_is_not_looked_at(small_grid, monkeypatch):
    monkeypatch.setattr(checks, "check_task", None)
    assert check_own_parts(load_grid(small_grid), [0]) == []


BOTH = " (each of 2 settings tried, such as d = 6)"


def test_labels_of_another_kind_and_nothing_about_what_needs_the_task(tmp_path):
    source = PARITY.replace("prod(axis=1) > 0", "prod(axis=1)")
    words = 'gave labels -1 and 1; wanted 0 and 1 (targets = "binary"); for numbers set targets: ClassVar = "real"'
    draws = ("train_examples", "test_examples")
    lines = [f"own_task.py:{line_of(source, f'def {draw}')}: task parity: {draw} {words}{BOTH}" for draw in draws]
    assert refused(tmp_path, task=source) == lines


def test_a_network_and_a_metric_each_with_its_own_file(tmp_path):
    network = NETWORK.replace('"a": a', '"b": np.ones(m), "a": a')
    apply = line_of(network, "def apply")
    words = "network gated: apply lets no gradient reach parameter 'b', as for all examples it is zero; "
    metric = METRIC.replace(".mean())", ".sum())")
    lines = refused(tmp_path, network=network, metric=metric)
    assert [line.split(" let apply")[0] + " " for line in lines if "own_network" in line] == [f"own_network.py:{apply}: {words}"]
    [line] = [line for line in lines if "own_metric" in line]
    assert line.startswith(f"own_metric.py:{line_of(metric, '@metric')}: metric sparsity: gave ")
    assert line.endswith("; wanted a number between its low = 0 and high = 1 (d = 6, network = relu2, seed = 1)")


def test_an_optimiser_is_tried_in_each_of_its_settings(tmp_path):
    optimiser = OPTIMISER.replace("rate, value=-1)", "rate, value=-1 if self.memory < 0.8 else 0)")
    [line] = refused(tmp_path, optimiser=optimiser, blocks=BY_LION)
    update = line_of(optimiser, "def update")
    assert line == (
        f"own_optimiser.py:{update}: training lion: update changed no parameter; wanted theta changed in place, as by "
        "theta.addcmul_(gradient, rate, value=-1) (d = 6, memory = 0.9, seed = 1)"
    )


def test_an_optimiser_of_a_network_that_is_wrong_is_not_tried(tmp_path):
    network = NETWORK.replace('@ parameters["a"]', '@ parameters["a"][:, None]')
    optimiser = OPTIMISER.replace("addcmul_(blended", "addcmul(blended")
    assert [line.partition(":")[0] for line in refused(tmp_path, network=network, optimiser=optimiser, blocks=GATED)] == [
        "own_network.py"
    ]
    by_both = GATED.replace("network: gated,", "network: gated, training: lion,")
    [line] = refused(tmp_path, network=network, optimiser=optimiser, blocks=by_both)
    assert line.startswith("own_network.py:")


def test_an_exception_has_its_line(tmp_path):
    metric = METRIC.replace("return None if", "x = probe.parameters['v']\n    return None if")
    lines = refused(tmp_path, metric=metric)  # the two-layer network has no such parameter
    assert lines == [
        f"own_metric.py:{line_of(metric, 'x = probe')}: metric sparsity: raised KeyError: 'v' (d = 6, network = relu2, seed = 1)"
    ]


def test_a_problem_of_one_setting_names_the_setting(tmp_path):
    source = PARITY.replace(
        "return x, x[:, symbols]", "x = x * np.where(self.d == 8, np.inf, 1)\n        return x, x[:, symbols]"
    )
    lines = refused(tmp_path, task=source)
    assert len(lines) == 2
    assert all(line.endswith("gave inputs that hold infinity; wanted finite numbers (d = 8)") for line in lines)


RAISES = "        if {}:\n            raise ValueError('nope')\n        d, m = cell.task.input_dim, self.width\n"


def raising_in_init(when):
    return NETWORK.replace("        d, m = cell.task.input_dim, self.width\n", RAISES.format(when))


def test_an_init_that_raises_for_the_generator_of_the_forecast_is_told_with_its_line(tmp_path):
    network = raising_in_init(f"rng.random() == {np.random.default_rng(0).random()!r}")
    [line] = refused(tmp_path, network=network)
    line, _, setting = line.partition(" (")
    assert line == f"own_network.py:{line_of(network, 'raise ValueError')}: network gated: init raised ValueError: nope"
    assert setting == "each of 4 settings tried, such as d = 6, gate = linear)"


def test_an_init_that_raises_in_a_setting_that_is_not_among_those_looked_at_is_told(tmp_path):
    widths = GATED.replace("seed: 0", "seed: 0, width: {range: [4, 104]}").replace("[linear, relu]", "relu")
    [line] = refused(tmp_path, network=raising_in_init("self.width == 50"), blocks=widths)
    assert line.endswith("network gated: init raised ValueError: nope (d = 6, width = 50)")


def test_a_failure_names_all_that_varies_the_seed_included(tmp_path):
    block = GATED.replace("seed: 0", "seed: [1, 2], steps: [20, 40]")
    network = raising_in_init("cell.seed == 2 and self.gate == 'relu'")
    [line] = refused(tmp_path, network=network, blocks=block)
    assert line.endswith("init raised ValueError: nope (d = 6, gate = relu, steps = 40, seed = 2)")
    metric = METRIC.replace("    return None", "    if probe.cell.seed == 2:\n        raise ValueError('nope')\n    return None")
    [line] = refused(tmp_path, metric=metric, blocks=block)
    assert line.endswith("metric sparsity: raised ValueError: nope (d = 6, gate = linear, steps = 40, seed = 2)")


def test_a_network_that_fails_where_a_metric_is_tried_is_told(tmp_path):
    network = NETWORK.replace("        gate = x @", "        {}['nope'] if cell.seed == 2 else 0\n        gate = x @")
    blocks = GATED.replace(", sparsity", "") + GATED.replace("seed: 0", "seed: 2")
    [line] = refused(tmp_path, network=network, blocks=blocks.replace("[6, 8]", "6").replace("[linear, relu]", "relu"))
    assert line.endswith("metric sparsity: cannot be tried, as network gated fails: KeyError: 'nope' (seed = 2)")


def test_gamma_is_named_as_in_the_grid(tmp_path):
    metric = METRIC.replace("    return None", "    raise ValueError('nope')\n    return None")
    [line] = refused(tmp_path, metric=metric, blocks=TWO_LAYERS.replace("gamma: 1", "gamma: [lazy, 1]").replace("[6, 8]", "6"))
    assert line.endswith("raised ValueError: nope (gamma = lazy, seed = 1)")


def test_a_task_that_is_the_same_in_all_networks_is_told_without_a_setting(tmp_path):
    blocks = (TWO_LAYERS + GATED).replace("[6, 8]", "6")
    told = checked(tmp_path, task=PARITY.replace("prod(axis=1) > 0", "prod(axis=1) > 1"), blocks=blocks)
    assert len(told) == 2 and all(line.endswith("labels that are all 0") for line in told)


def test_labels_that_are_all_equal_are_told_and_legal(tmp_path):
    told = checked(tmp_path, task=PARITY.replace("prod(axis=1) > 0", "prod(axis=1) > 1"))
    assert [line.partition("parity: ")[2] for line in told] == [
        f"{draw} gave 512 labels that are all 0{BOTH}" for draw in ("train_examples", "test_examples")
    ]


def test_parts_that_no_cell_has_are_not_looked_at(tmp_path):
    assert (
        checked(tmp_path, network=NETWORK.replace("def apply", "def apply_(self): ...\n\n    def apply"), blocks=TWO_LAYERS) == []
    )
    network = NETWORK.replace("return self.features(parameters, x, cell) @", "return 0 * self.features(parameters, x, cell) @")
    assert checked(tmp_path, network=network, blocks=TWO_LAYERS) == []
    grid = load_grid(own_grid(tmp_path, network=network, blocks=TWO_LAYERS + GATED))
    two_layers = [i for i, planned in enumerate(grid.cells) if planned.cell.network.name == "relu2"]
    assert check_own_parts(grid, two_layers) == []
    assert refused(tmp_path, network=network)
    unasked = TWO_LAYERS.replace(", sparsity", "")
    assert checked(tmp_path, metric=METRIC.replace("float((", "2 + float(("), blocks=unasked) == []


def test_of_many_settings_some_are_looked_at(tmp_path, monkeypatch):
    seen = []

    def look(task, is_sampled):
        seen.append(task.d)
        return [Finding(1, "nothing", is_wrong=False)]

    monkeypatch.setattr(checks, "check_task", look)
    assert len(checked(tmp_path, blocks=TWO_LAYERS.replace("[6, 8]", "{range: [4, 104]}"))) == 1
    assert len(seen) == MOST_SETTINGS == len(set(seen))
    assert (seen[0], seen[-1]) == (4, 103)


def test_a_metric_with_the_name_of_a_key(tmp_path):
    task = PARITY.replace("    k: Annotated", "    share: float = 0.5\n    k: Annotated")
    metric = METRIC.replace("def sparsity", "def share")
    lines = refused(tmp_path, task=task, metric=metric, blocks=TWO_LAYERS.replace("sparsity", "share"))
    assert lines == [
        "own.yaml:8: save: metric share would be a column of the results, and so is the key share of parity; rename it"
    ]


def test_a_part_that_takes_long_is_named_and_its_prints_stay_out_of_the_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checks, "PATIENCE_S", 0.05)
    slow = "        import time; time.sleep(0.2); print('hello')\n        return self.features"
    assert checked(tmp_path, network=NETWORK.replace("        return self.features", slow, 1)) == []
    said = capsys.readouterr()
    assert said.out == "" and "hello" in said.err
    assert f"{tmp_path / 'own_network.py'}: still trying gated, before anything is trained" in said.err
