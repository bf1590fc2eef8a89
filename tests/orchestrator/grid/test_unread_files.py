"""Files of own parts that cannot be used: each says so once, and nothing that follows from it is reported beside."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from tests.own_parts import METRIC, NETWORK, OPTIMISER, PARITY, keep_registries, line_of


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    keep_registries(monkeypatch)


@pytest.fixture
def problems(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def problems(key: str, source: str, block: str) -> list[str]:
        (tmp_path / "mine.py").write_text(source)
        defaults = "defaults: {d: 4, width: 3, seed: 0}"
        (tmp_path / "g.yaml").write_text(f"{key}: [mine.py]\n{defaults}\ngrids: [{{task: same_different, {block}}}]\n")
        with pytest.raises(GridError) as refused:
            load_grid("g.yaml")
        return str(refused.value).splitlines()

    return problems


OWN = "network: own, gate: relu"
FOLLOWS = [
    ("networks", f"L: 4, {OWN}"),
    ("networks", "L: 4, network: [relu2, own]"),
    ("networks", f"L: [4, 5], {OWN}, gate: [1, 2], zip: [[L, gate]], exclude: 'gate == 1', save: [neurons]"),
    ("networks", f"{OWN}, find: {{axis: gate, at: 0.8, range: [2, 9]}}, L: 4"),
    ("trainings", "L: 4, gamma: 1, training: own, memory: 2, batch: -1"),
    ("trainings", "L: 4, gamma: 1, training: [adam, own]"),
    ("trainings", "L: 4, network: [erf2, mlp], training: [langevin, own], kappa: 1, zip: [[network, training]]"),
    ("metrics", "gamma: 1, find: {axis: L, metric: own, at: 0.8, range: [2, 9]}"),
    ("metrics", "L: 4, gamma: 1, save: [own]"),
]


@pytest.mark.parametrize(("key", "block"), FOLLOWS)
def test_what_follows_from_a_file_that_is_not_read_is_not_reported(problems, key, block):
    [said] = problems(key, "def f(:\n", block.replace("gate: relu, ", "") if block.count("gate:") > 1 else block)
    assert said.startswith("mine.py:1: not Python: ")


def test_what_is_wrong_whatever_the_file_holds_is_reported(problems):
    said = problems("networks", "def f(:\n", f"L: 1, steps: -1, {OWN}")
    assert len(said) == 3 and "L = 1" in said[0] + said[1] and "steps = -1" in said[0] + said[1]


@pytest.mark.parametrize(
    ("key", "word"), [("tasks", "task"), ("networks", "network"), ("trainings", "training"), ("metrics", "metric")]
)
@pytest.mark.parametrize("source", ["x = 1\n", None])
def test_a_file_that_defines_nothing_of_its_list_is_told_so_in_the_words_of_the_list(problems, key, word, source):
    source = source or (METRIC if key == "tasks" else PARITY)
    [said] = problems(key, source, "L: 4, gamma: 1")
    assert said.startswith(f"mine.py: it defines no {word}; ")


def test_the_keys_of_a_network_whose_name_is_taken_are_not_looked_for_in_the_other(problems):
    [said] = problems("networks", NETWORK.replace('"gated"  #', '"residual"  #'), "L: 4, gate: 3, network: residual")
    assert "the name 'residual' belongs to a network of this package" in said


NAMED = {"networks": ("network Gated", NETWORK, '"gated"  #'), "trainings": ("training Lion", OPTIMISER, '"lion"  #')}


@pytest.mark.parametrize("key", NAMED)
@pytest.mark.parametrize("name", ["my net", "2nd", "", "own-net"])
def test_a_name_that_is_none_says_what_is_legal(problems, key, name):
    part, source, named = NAMED[key]
    [said] = problems(key, source.replace(named, f'"{name}"  #'), "L: 4, gamma: 1")
    assert said.startswith(f"mine.py:{line_of(source, 'name: ClassVar')}: {part}: its name is {name!r}, and must be letters,")


def test_a_name_of_a_training_of_the_package_is_taken(problems):
    [said] = problems("trainings", OPTIMISER.replace('"lion"  #', '"adam"  #'), "L: 4, gamma: 1, training: adam, memory: 0.5")
    line = line_of(OPTIMISER, "class Lion")
    assert said.startswith(f"mine.py:{line}: the name 'adam' belongs to a training of this package; choose another")
