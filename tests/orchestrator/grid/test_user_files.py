"""A task of a user's own: the worked example of examples/, what travels to a worker, and files that are no tasks."""

import hashlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trainables.tasks.base
from orchestrator.grid.load import load_grid
from orchestrator.grid.own.files import register_user_file
from orchestrator.grid.own.source import UserFile, UserFileError
from orchestrator.grid.syntax.problems import GridError
from sweepkit.console.exit_codes import INTERRUPTED, Interrupted
from sweepkit.store.schema import table_of
from trainables.tasks import task_class

EXAMPLES = Path(__file__).parents[3] / "examples"
PARITY = (EXAMPLES / "parity.py").read_text()
FIRST_PARITY = (Path(__file__).parents[2] / "data" / "store_v3" / "grids" / "parity.py").read_text()
"""The task file with its first learning rate and scale, which stay its own for ever."""
GRID = "tasks: [mine.py]\ngrids:\n- {task: %s, d: 6, width: 8, gamma: [1, lazy], seed: 0}\n"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(trainables.tasks.base, "_TASKS", dict(trainables.tasks.base._TASKS))


@pytest.fixture
def load(tmp_path):
    def load(source: str, task: str = "parity"):
        (tmp_path / "mine.py").write_text(source)
        (tmp_path / "g.yaml").write_text(GRID % task)
        return load_grid(tmp_path / "g.yaml")

    return load


def test_the_worked_example_is_about_30_lines_and_plans():
    code = [line for line in PARITY.splitlines() if line.strip() and not line.strip().startswith(("#", '"""'))]
    assert len(code) <= 35
    grid = load_grid(EXAMPLES / "parity_grid.yaml")
    assert len(grid.cells) == 27
    assert [Path(f.path).name for f in grid.user_files] == ["parity.py"]
    assert all(p.cell_id == p.cell.cell_id for p in grid.cells)
    cell = grid.cells[0].cell
    assert cell.keys()["task"] == "parity"
    assert cell.descent.base_lr == task_class("parity").default_of("base_lr")


def test_the_worked_example_draws_parities():
    task = load_grid(EXAMPLES / "parity_grid.yaml").cells[0].cell.task
    rng = np.random.default_rng(0)
    bits = task.draw_symbols(rng)
    x, y = task.train_examples(rng, bits, 500)
    assert x.shape == (500, task.input_dim)
    assert x.dtype == np.float32
    assert set(np.unique(x)) == {-1, 1}
    assert (y == (x[:, bits].prod(axis=1) == 1)).all()
    assert 0.4 < y.mean() < 0.6


def test_its_source_is_part_of_the_id(load):
    first, again, edited = load(PARITY), load(PARITY), load(PARITY + "\n# edited\n")
    assert [p.cell_id for p in first.cells] == [p.cell_id for p in again.cells]
    assert {p.cell_id for p in first.cells}.isdisjoint(p.cell_id for p in edited.cells)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_mark_of_order_are_no_part_of_the_ids(end, mark, load, tmp_path):
    ids = {one.cell_id for one in load(PARITY).cells}
    for name in ("mine.py", "g.yaml"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_bytes((mark + text.replace("\n", end)).encode())
    assert {one.cell_id for one in load_grid(tmp_path / "g.yaml").cells} == ids


def test_the_digest_of_a_file_with_the_line_ends_of_unix_is_that_of_its_bytes():
    assert UserFile("x.py", PARITY).digest == hashlib.sha256(PARITY.encode()).hexdigest()[:12]


def test_registering_twice_gives_the_same_classes():
    file = UserFile("somewhere/parity.py", PARITY)
    assert register_user_file(file) == register_user_file(pickle.loads(pickle.dumps(file)))
    [cls] = register_user_file(file).tasks
    assert len(cls.file_digest) == 12 and cls.__module__ == f"user_file_{cls.file_digest}"


def test_a_worker_without_the_file_can_take_the_cells(load, tmp_path):
    grid = load(PARITY)
    (tmp_path / "mine.py").unlink()
    (tmp_path / "pack").write_bytes(pickle.dumps(pickle.dumps([p.cell for p in grid.cells])))
    (tmp_path / "files").write_bytes(pickle.dumps(grid.user_files))
    code = """
        import pickle, sys
        from orchestrator.grid.own.files import register_user_file
        for file in pickle.load(open("files", "rb")):
            register_user_file(file)
        print(*(cell.cell_id for cell in pickle.loads(pickle.load(open("pack", "rb")))))
    """
    done = subprocess.run([sys.executable, "-c", "if True:" + code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [p.cell_id for p in grid.cells]


def test_a_task_of_another_grid_is_unknown_here(load, tmp_path):
    load(PARITY)
    (tmp_path / "g.yaml").write_text((GRID % "parity").replace("tasks: [mine.py]\n", ""))
    with pytest.raises(
        GridError,
        match=r"unknown task 'parity'; .*legal: .*psvrt, same_different, square, staircase, step, symbolic_template, "
        "template, text, token_pairs ",
    ):
        load_grid(tmp_path / "g.yaml")


def test_a_block_of_two_tasks_gives_each_the_keys_it_has(load, tmp_path):
    load(PARITY)
    defaults = "{L: [2, 3], k: [1, 2], width: 8, gamma: lazy, seed: 0}"
    text = f"tasks: [mine.py]\ndefaults: {defaults}\ngrids: [{{task: [same_different, parity], d: 6}}]"
    (tmp_path / "g.yaml").write_text(text)
    cells = [p.cell.keys() for p in load_grid(tmp_path / "g.yaml").cells]
    assert [(c["task"], c.get("L"), c.get("k")) for c in cells] == [
        ("same_different", 2, None),
        ("same_different", 3, None),
        ("parity", None, 1),
        ("parity", None, 2),
    ]
    with pytest.raises(GridError, match="unknown key 'L'"):
        load_grid(tmp_path / "g.yaml", ["task=parity"])


BAD = [
    ("def f(:\n", "mine.py:1: not Python: "),
    ("import os\nraise SystemExit(3)\n", "mine.py:2: running it raised SystemExit: 3"),
    ("x = 1\ny = 1 / 0\n", "mine.py:2: running it raised ZeroDivisionError"),
    ("import nowhere_to_be_found\n", "mine.py:1: running it raised ModuleNotFoundError"),
    ("x = 1\n", "it defines no task"),
    (PARITY.replace('"parity"  #', '"same_different"  #'), "belongs to a task of this package"),
    (PARITY.replace('name: ClassVar[str] = "parity"', "pass"), "needs a name"),
    (FIRST_PARITY.replace("default_base_lr: ClassVar[float] = 0.1", "pass"), "needs a learning rate"),
    (re.sub("(default_base_lr|defaults): ClassVar.*", "pass", PARITY), "needs a learning rate"),
    (PARITY.replace("def input_dim", "def other_dim"), "lacks input_dim"),
    (PARITY.replace("= 2\n", "= 9\n", 1), "k (9) is larger than d (6)"),
    (FIRST_PARITY.replace("return 1.0", "return 0.0"), "fails for d = 6, k = 2: ZeroDivisionError"),
]


def test_an_interrupt_while_a_file_runs_is_no_fault_of_the_file(load):
    with pytest.raises(Interrupted) as left:
        load("from sweepkit.console.exit_codes import Interrupted\nraise Interrupted\n")
    assert left.value.code == INTERRUPTED


@pytest.mark.parametrize(("source", "said"), BAD, ids=[said for _, said in BAD])
def test_a_bad_user_file_says_where(load, source, said):
    with pytest.raises(GridError) as caught:
        load(source)
    assert len(caught.value.problems) == 1, str(caught.value)
    assert said in str(caught.value)


K_FIELD = "k: Annotated[int, Field(ge=1)] = 2"
K_LINE = PARITY[: PARITY.index(K_FIELD)].count("\n") + 1
BAD_FIELDS = [
    ("width: int = 2", f"mine.py:{K_LINE}: task Parity, field width: a grid uses this name already"),
    ("save: int = 2", "field save: a grid uses this name already"),
    ("status: int = 2", "field status: the results have a column of this name"),
    ("Seed: int = 2", "field Seed: the results have a column of this name (case makes no difference)"),
    ("p: int = 2", "field p: the results have a column of this name"),
    ("source: float = 1.0", "field source: every task has something else of this name; choose another"),
    ("data_seed: int = 2", "field data_seed: every task has something else of this name; choose another"),
    ("curve_step: int = 2", "field curve_step: the results have a column of this name"),
    ("gamma_label: str = 'a'", "field gamma_label: the results have a column of this name"),
    ("sweep: str = 'a'", "field sweep: the results have a column of this name"),
    ("L: str = 'a'", "field L: the results have a column of this name; make it int, or choose another name"),
    ("P: float = 1.0", "field P: the results have a column of this name; make it int"),
    ("P: bool = True", "field P: the results have a column of this name; make it int"),
    ("sigma2: str = 'a'", "field sigma2: the results have a column of this name; make it float or int"),
    (f"{K_FIELD}\n    K: int = 2", f"mine.py:{K_LINE + 1}: task Parity, field K: differs from k only in case"),
    ("k: list[int] = [2]", "field k: must be int, float, bool, str or a Literal of texts, to be a column; it is list[int]"),
    ("k: int | None = 2", "it is int | None"),
    ("k: bytes = b'2'", "it is bytes"),
    ("k: __import__('typing').Literal[1, 2] = 2", "it is Literal[1, 2]"),
]


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")  # pydantic's own word on a name that is taken
@pytest.mark.parametrize(("field", "said"), BAD_FIELDS, ids=[field for field, _ in BAD_FIELDS])
def test_a_field_that_cannot_be_a_column_is_refused(load, field, said):
    with pytest.raises(GridError) as caught:
        load(PARITY.replace(K_FIELD, field))
    assert len(caught.value.problems) == 1, str(caught.value)
    assert said in str(caught.value)


def test_fields_of_every_kind_that_a_column_can_hold(load):
    fields = f"""{K_FIELD}
    L: int = 3
    sigma2: Annotated[float, Field(ge=0)] = 0.5
    height: float = 1.5
    deep: bool = True
    kind: str = "a"
    mode: Annotated[Literal["one", "two"], Field()] = "two"
"""
    source = PARITY.replace("import Annotated", "import Annotated, Literal").replace(f"{K_FIELD}\n", fields)
    cell = load(source).cells[0].cell
    row = cell.keys()
    stored = table_of([{"cell_id": "c", **row}], cell.declared().values()).to_pylist()[0]
    assert {name: stored[name] for name in row} == row


def test_two_files_may_not_define_one_name(load, tmp_path):
    load(PARITY)
    (tmp_path / "other.py").write_text(PARITY + "\n# other\n")
    (tmp_path / "g.yaml").write_text((GRID % "parity").replace("[mine.py]", "[mine.py, other.py]"))
    with pytest.raises(GridError, match="another of these files"):
        load_grid(tmp_path / "g.yaml")


def test_register_raises_for_a_file_that_is_no_task():
    with pytest.raises(UserFileError, match="no task"):
        register_user_file(UserFile("x.py", "x = 1"))
