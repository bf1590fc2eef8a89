"""Files with an optimiser of one's own that cannot be used: each says what is wrong, and in which line."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from tests.own_parts import NETWORK, OPTIMISER, PARITY, keep_registries, line_of

UPDATE = OPTIMISER[OPTIMISER.index("    def update") :]
CLASS, FREE, UPDATES = (line_of(OPTIMISER, words) for words in ("class Lion", "is_normalised", "def update"))
MEMORY = next(line for line in OPTIMISER.splitlines() if "memory: Annotated" in line)
AT_MEMORY = line_of(OPTIMISER, MEMORY)
NORMALISED = next(line for line in OPTIMISER.splitlines() if "is_normalised" in line)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    keep_registries(monkeypatch)


@pytest.fixture
def refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refused(source: str | None, top: str = "trainings: [mine.py]", block: str = "training: lion") -> str:
        if source is not None:
            (tmp_path / "mine.py").write_text(source)
        block = f"{{task: same_different, L: 4, d: 4, width: 3, gamma: 1, seed: 0, {block}}}"
        (tmp_path / "g.yaml").write_text(f"{top}\ngrids: [{block}]\n")
        with pytest.raises(GridError) as caught:
            load_grid("g.yaml")
        [said] = str(caught.value).splitlines()
        return said

    return refused


def field(line: str) -> str:
    return OPTIMISER.replace(MEMORY, f"    {line}")


def base(name: str) -> str:
    return OPTIMISER.replace("(Minibatch)", f"({name})").replace("import Minibatch", f"import {name}")


BAD = [
    (OPTIMISER.replace(next(ln for ln in OPTIMISER.splitlines() if "name: ClassVar" in ln), "    pass"), CLASS,
     'training Lion needs a name: name: ClassVar[str] = "lion"'),
    (OPTIMISER.replace(UPDATE, ""), CLASS, "training Lion lacks update"),
    (OPTIMISER.replace(UPDATE, "    update: ClassVar = 3\n"), UPDATES, "training Lion: update is not a function"),
    (base("Training"), CLASS, "your own trainings must learn by gradient descent; subclass trainables.training.Minibatch"),
    (base("Descent"), CLASS, "training Lion does not say how many examples a step takes; subclass "),
    (OPTIMISER.replace(NORMALISED, '    family: ClassVar[str] = "ridge"'), CLASS, "must learn by gradient descent"),
    (OPTIMISER.replace(NORMALISED, '    free: ClassVar = ("base_lr", "batch")'), FREE,
     "training Lion: free names 'batch'; it may name base_lr and numbers among its own keys: blend, memory"),
    (OPTIMISER.replace(NORMALISED, '    free: ClassVar = ("base_lr", "decay")'), FREE, "free names 'decay'"),
    (OPTIMISER.replace(NORMALISED, '    free: ClassVar = "memory"'), FREE, "training Lion: free must hold names of keys"),
    (field("width: int = 2"), AT_MEMORY, "training Lion, field width: a grid uses this name already"),
    (field("depth: int = 2"), AT_MEMORY, "training Lion, field depth: a grid uses this name already"),
    (field("seed: int = 2"), AT_MEMORY, "training Lion, field seed: a grid uses this name already"),
    (field("rate: float = 2.0"), AT_MEMORY, "training Lion, field rate: every training has something else of this name"),
    (field("source: float = 2.0"), AT_MEMORY, "training Lion, field source: every training has something else of this name"),
    (field("memory: list[float] = [1.0]"), AT_MEMORY, "field memory: must be int, float, bool, str or a Literal of texts"),
    (field("Blend: float = 1.0"), AT_MEMORY, "field Blend: differs from blend only in case"),
    (field("memory: Annotated[float, Field(lt=1)] = 2.0"), AT_MEMORY, "field memory: its declaration is not legal"),
    (field("best_test_acc: float = 2.0"), AT_MEMORY, "field best_test_acc: the results have a column of this name"),
    (field("kappa: str = 'a'"), AT_MEMORY, "field kappa: the results have a column of this name; make it float"),
    (f"{OPTIMISER}\n\nclass Lion2(Lion):\n    pass\n", None, "two of its trainings have the same name"),
    ("x = 1\n", None, "it defines no training; subclass trainables.training.Minibatch ("),
    (PARITY, None, "it defines no training; "),
    ("import nowhere_to_be_found\n", 1, "running it raised ModuleNotFoundError"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")  # pydantic's own word on a name that is taken
@pytest.mark.parametrize(("source", "line", "said"), BAD, ids=[said for _, _, said in BAD])
def test_a_bad_file_says_where(refused, source, line, said):
    told = refused(source)
    assert told.startswith(f"mine.py:{line}: " if line else "mine.py: "), told
    assert said in told and told.endswith("(a training file of g.yaml:1)")


def test_a_file_that_is_not_there_and_a_path_that_is_none(refused):
    assert refused(None).startswith("g.yaml:1: trainings: mine.py: ")
    assert "trainings: 3: must be the path of a Python file, such as trainings: [own_optimiser.py]" in refused(
        None, "trainings: [3]"
    )


def test_a_misspelt_name_hides_no_key_and_another_word_for_the_list_is_known(refused, tmp_path):
    said = refused(OPTIMISER, block="training: [adam, loin], memory: 0.5")
    assert said.startswith("g.yaml:2: training = 'loin': must be one of adam, adamw, ") and said.endswith("did you mean 'lion'?")
    assert "unknown key 'optimizers'; say trainings; " in refused(OPTIMISER, "optimizers: [mine.py]", "batch: 8")


def test_two_files_may_not_define_one_name(refused, tmp_path):
    (tmp_path / "other.py").write_text(OPTIMISER + "\n# other\n")
    said = refused(OPTIMISER, "trainings: [mine.py, other.py]")
    assert said == "g.yaml:1: trainings: 'other.py' defines lion, which another of these files defines too"


def test_a_key_of_an_own_network_too_is_told(refused, tmp_path):
    (tmp_path / "net.py").write_text(NETWORK.replace("gate: Annotated", "memory: float = 0.5\n    gate: Annotated"))
    said = refused(OPTIMISER, "trainings: [mine.py]\nnetworks: [net.py]", "training: lion, network: [gated, relu2]")
    assert "network gated and training lion both have a key memory, and a cell can hold one" in said


OWN_TASK = PARITY.replace('"prefactor": "none"}', '"prefactor": "none", "training": "lion"}')


def test_an_own_task_may_have_an_own_optimiser_for_its_default(refused, tmp_path):
    (tmp_path / "task.py").write_text(OWN_TASK)
    (tmp_path / "mine.py").write_text(OPTIMISER)
    lists, block = "tasks: [task.py]\n{}grids: [{{task: parity, d: 6, width: 3, gamma: 1, seed: 0}}]\n", "g.yaml"
    (tmp_path / block).write_text(lists.format("trainings: [mine.py]\n"))
    [planned] = load_grid(block).cells
    # A task's default of a key that a training has a default for stays the training's.
    assert (planned.cell.training.name, planned.cell.descent.base_lr) == ("lion", 1e-3)
    assert "training" not in planned.cell.keys() and planned.cell.columns()["training"] == "lion"  # noqa: SIM118
    (tmp_path / block).write_text(lists.format(""))
    with pytest.raises(GridError) as caught:
        load_grid(block)
    [said] = str(caught.value).splitlines()
    assert said.startswith("g.yaml:1: tasks: 'task.py': task parity has the default training 'lion'; legal: adam, adamw, gd, ")


def test_a_bad_file_is_all_that_is_told_of_where_a_tasks_default_training_may_be_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text(OWN_TASK)
    (tmp_path / "mine.py").write_text("def\n")
    for others in ("trainings: [mine.py]", "metrics: [mine.py]"):
        (tmp_path / "g.yaml").write_text(
            f"tasks: [task.py]\n{others}\ngrids: [{{task: parity, d: 6, width: 3, gamma: 1, seed: 0}}]\n"
        )
        with pytest.raises(GridError) as caught:
            load_grid("g.yaml")
        [said] = str(caught.value).splitlines()
        assert said.startswith("mine.py:1: ")


def test_an_optimiser_that_refuses_its_keys_by_an_error_of_another_kind_is_named(refused):
    broken = OPTIMISER.replace("    def start(", "    def check(self, cell):\n        1 / 0\n\n    def start(")
    assert "training lion with task same_different fails for L = 4, d = 4" in refused(broken)
