"""Keys and metrics of one name are of one kind, in whichever parts of a grid they are: else a column would change its type."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from tests.own_parts import METRIC, NETWORK, OPTIMISER, PARITY, keep_registries, line_of

GRID = """\
{lists}
defaults: {{L: 4, d: 6, width: 8, gamma: 1, base_lr: 0.1, seed: 0}}
grids: [{{task: same_different}}]
"""
GATE = next(line for line in NETWORK.splitlines() if "gate: Annotated" in line)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    keep_registries(monkeypatch)


def network(name: str, field: str) -> str:
    return NETWORK.replace(GATE, f"    {field}").replace('"gated"  #', f'"{name}"  #').replace("Gated", name.title())


@pytest.fixture
def problems(tmp_path, monkeypatch):
    """Problems of a grid with these files, as `networks=[source, ...]`."""
    monkeypatch.chdir(tmp_path)

    def problems(**files: list[str]) -> list[str]:
        lists = []
        for key, sources in files.items():
            names = [f"{key}{i}.py" for i, _ in enumerate(sources)]
            lists.append(f"{key}: [{', '.join(names)}]")
            for name, source in zip(names, sources, strict=True):
                (tmp_path / name).write_text(source)
        (tmp_path / "g.yaml").write_text(GRID.format(lists="\n".join(lists)))
        try:
            load_grid("g.yaml")
        except GridError as error:
            return str(error).splitlines()
        return []

    return problems


LINE = line_of(NETWORK, "gate: Annotated")
TOLD = "and one column of the results holds both; name it otherwise"


@pytest.mark.parametrize(
    ("field", "here"),
    [('depth: str = "deep"', "text"), ("depth: float = 1.5", "a number"), ("Depth: bool = True", "true or false")],
)
def test_a_key_of_this_package_keeps_its_kind(problems, field, here):
    [said] = problems(networks=[network("own", field)])
    name = field.partition(":")[0]
    assert said.startswith(f"networks0.py:{LINE}: network Own, field {name}: it is {here} here and a whole number in network mlp")
    assert TOLD in said


def test_networks_keep_to_the_kind_of_a_task_and_tasks_to_that_of_a_network(problems):
    [said] = problems(tasks=[PARITY.replace("k: Annotated[int, Field(ge=1)] = 2", 'k: int = 2\n    depth: str = "a"')])
    assert "task Parity, field depth: it is text here and a whole number in network mlp of this package" in said
    [said] = problems(tasks=[PARITY], networks=[network("own", 'k: str = "a"')])
    assert f"networks0.py:{LINE}: network Own, field k: it is text here and a whole number in task parity," in said


@pytest.mark.parametrize(("other", "here"), [('kernel: str = "a"', "text"), ("kernel: float = 1.0", "a number")])
def test_own_networks_keep_to_the_kind_of_each_other(problems, other, here):
    first, second = network("first", "kernel: int = 1"), network("second", other)
    [said] = problems(networks=[first, second])
    assert said.startswith(f"networks1.py:{LINE}: network Second, field kernel: it is {here} here and a whole number in network")
    [said] = problems(networks=[first + "\n\n" + second[second.index("class") :]])
    assert f"it is {here} here and a whole number in network first, {TOLD}" in said


MEMORY = next(line for line in OPTIMISER.splitlines() if "memory: Annotated" in line)


def optimiser(field: str) -> str:
    return OPTIMISER.replace(MEMORY, f"    {field}")


def test_optimisers_keep_to_the_kinds_of_the_package_and_of_own_networks(problems):
    line = line_of(OPTIMISER, MEMORY)
    [said] = problems(trainings=[optimiser('beta1: str = "a"')])
    assert said.startswith(f"trainings0.py:{line}: training Lion, field beta1: it is text here and a number in training adam of")
    [said] = problems(networks=[network("own", "memory: int = 1")], trainings=[optimiser('memory: str = "a"')])
    assert said.startswith(
        f"trainings0.py:{line}: training Lion, field memory: it is text here and a whole number in network own"
    )
    assert problems(trainings=[optimiser("beta1: float = 0.5")]) == []


def test_a_metric_keeps_to_the_kind_of_a_key(problems):
    [said] = problems(networks=[network("own", 'sparsity: str = "a"')], metrics=[METRIC])
    assert said.startswith("metrics0.py:") and "metric sparsity: it is a number here and text in network own" in said


def test_keys_of_one_kind_go_together_and_files_of_other_grids_do_not_count(problems):
    assert problems(networks=[network("first", "kernel: int = 1"), network("second", "kernel: int = 2")]) == []
    assert problems(networks=[network("third", 'kernel: str = "a"')]) == []
    assert problems(networks=[network("fourth", "depth: int = 3")]) == []
