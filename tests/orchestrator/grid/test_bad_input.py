"""Bad grids: every problem at once, with its line, the bad value and what is legal; and never anything but a GridError."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError

GOOD = {"task": "same_different", "L": "3", "d": "4", "width": "8", "gamma": "1", "seed": "0"}


def block(**keys: str | None) -> str:
    return "grids:\n  -\n" + "".join(f"    {k}: {v}\n" for k, v in {**GOOD, **keys}.items() if v is not None)


@pytest.fixture
def problems(tmp_path, monkeypatch):
    """The problems of a grid's text (or bytes), as lines."""
    monkeypatch.chdir(tmp_path)

    def problems(text: str | bytes, *overrides: str, max_cells: int = 1000) -> list[str]:
        (tmp_path / "g.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
        with pytest.raises(GridError) as caught:
            load_grid("g.yaml", overrides, max_cells)
        assert [str(p) for p in caught.value.problems] == str(caught.value).splitlines()
        return str(caught.value).splitlines()

    return problems


def only(lines: list[str]) -> str:
    assert len(lines) == 1, lines
    return lines[0]


ONE_VALUE = [
    # a key's value, its line, and what the message must say
    ({"task": "same_diferent"}, 3, ["unknown task 'same_diferent'", "did you mean 'same_different'?", "psvrt, same_different"]),
    ({"widht": "3"}, 9, ["unknown key 'widht'", "did you mean 'width'?", "legal keys of same_different: task, L, d, sigma2"]),
    ({"l": "3"}, 9, ["unknown key 'l'", "did you mean 'L'?"]),
    ({"L": "1"}, 4, ["L = 1", ">= 2"]),
    ({"d": "0"}, 5, ["d = 0", ">= 1"]),
    ({"width": "0"}, 6, ["width = 0", ">= 1"]),
    ({"width": "true"}, 6, ["width = true", "whole number"]),
    ({"width": "'12'"}, 6, ["width = '12'", "whole number", "without quotes"]),
    ({"width": "2.5"}, 6, ["width = 2.5", "whole number"]),
    ({"width": ""}, 6, ["width = nothing", "whole number"]),
    ({"width": "1e30"}, 6, ["width = ", "64 bits"]),
    ({"width": "[[1, 2]]"}, 6, ["list inside its list"]),
    ({"gamma": "0"}, 7, ["gamma = 0", "`lazy`"]),
    ({"gamma": "[1, -0.5]"}, 7, ["gamma = -0.5", "`lazy`"]),
    ({"gamma": "lzay"}, 7, ["gamma = 'lzay'", "did you mean 'lazy'?"]),
    ({"gamma": ".nan"}, 7, ["gamma = nan", "finite"]),
    ({"gamma": ".inf"}, 7, ["gamma = inf", "finite"]),
    ({"gamma": "1e999"}, 7, ["gamma = inf", "finite"]),
    ({"gamma": "true"}, 7, ["gamma = true", "number"]),
    ({"seed": "-1"}, 8, ["seed = -1", ">= 0"]),
    ({"sigma2": "-1"}, 9, ["sigma2 = -1", ">= 0"]),
    ({"base_lr": "0"}, 9, ["base_lr = 0", "> 0"]),
    ({"dtype": "flaot32"}, 9, ["dtype = 'flaot32'", "float32, float64", "did you mean 'float32'?"]),
    ({"L": "[]"}, 4, ["L is an empty list"]),
    ({"L": "{range: 0}"}, 4, ["`range` of 0 is empty"]),
    ({"L": "{range: [5, 2]}"}, 4, ["`range` of 5, 2 is empty"]),
    ({"L": "{range: [2, 5, 0]}"}, 4, ["step 0", "[start, stop, step]"]),
    ({"L": "{range: [2.5, 5]}"}, 4, ["whole numbers"]),
    ({"L": "{range: [a, 5]}"}, 4, ["'a' is not a number"]),
    ({"L": "{range: []}"}, 4, ["1 to 3 arguments"]),
    ({"L": "{rnage: 3}"}, 4, ["unknown axis form 'rnage'", "did you mean 'range'?", "pow2"]),
    ({"L": "{range: 3, pow2: [1, 2]}"}, 4, ["2 keys"]),
    ({"L": "{}"}, 4, ["0 keys"]),
    ({"L": "{linspace: [2, 5]}"}, 4, ["3 arguments", "count"]),
    ({"L": "{linspace: [2, 5, 0]}"}, 4, [">= 1"]),
    ({"L": "{geomspace: [0, 5, 3]}"}, 4, ["both ends > 0"]),
    ({"L": "{pow2: [1, 100000000]}"}, 4, ["-1000 and 1000"]),
    ({"L": "{log10: [1, 400, 3]}"}, 4, ["largest number"]),
    ({"gamma": "{linspace: [-1, 1, 3]}"}, 7, ["gamma = -1"]),
    ({"dtype": "{range: 3}"}, 9, ["no axis of numbers"]),
    ({"steps": "2500"}, 9, ["steps = 2500", "eval_every = 1000, its default", "2000, 3000"]),
    ({"eval_every": "7"}, 9, ["steps = 25000", "eval_every = 7"]),
    ({"L": "[2, 3]", "d": "[1, 2, 3]", "zip": "[[L, d]]"}, 9, ["one length", "L has 2, d has 3"]),
    ({"zip": "[[L, q]]"}, 9, ["zip names 'q'", "legal: L, d"]),
    ({"zip": "[L, d]"}, 9, ["zip: [[L, d]]"]),
    ({"zip": "[[L, L]]"}, 9, ["L twice"]),
    ({"exclude": '["L > 1"]'}, 9, ["leaves nothing", "1 cell"]),
    ({"exclude": '["L >"]'}, 9, ["'L >'", "cannot be read"]),
    ({"exclude": '["Ld > 1"]'}, 9, ["unknown name 'Ld'", "did you mean 'L'?"]),
    ({"exclude": '["L"]'}, 9, ["compares nothing"]),
    ({"exclude": "[3]"}, 9, ["must be a condition"]),
    ({"exclude": "[\"L > 'a'\"]"}, 9, ["cannot be evaluated for L = 3"]),
    ({"exclude": '["L / (d - 4) > 1"]'}, 9, ["division by zero"]),
    ({"exclude": '["9**9**9 > L"]'}, 9, ["cannot be evaluated"]),
    ({"exclude": '["dtype * 1000000000 == dtype"]'}, 9, ["arithmetic"]),
    ({"exclude": '["__import__(1) == 1"]'}, 9, ["but not"]),
    ({"exclude": '["L.real == 1"]'}, 9, ["but not 'L.real'"]),
    ({"save": "[curve]"}, 9, ["unknown 'curve'", "did you mean 'curves'?", "curves, neurons, weights"]),
    ({"seed": None}, 3, ["does not say seed", "`defaults`"]),
    ({"task": None, "x": "1"}, 3, ["names no task", "same_different"]),
]


@pytest.mark.parametrize(("keys", "line", "said"), ONE_VALUE, ids=lambda x: str(x) if isinstance(x, dict) else "")
def test_one_bad_value(problems, keys, line, said):
    lines = [text for text in problems(block(**keys)) if said[0] in text]
    message = only(lines)
    assert message.startswith(f"g.yaml:{line}: ")
    assert all(part in message for part in said), message


WHOLE_FILE = [
    ("", None, "empty"),
    ("# nothing\n", None, "empty"),
    ("3", 1, "not a grid: the file holds 3"),
    ("- a\n- b\n", 1, "not a grid: the file holds a list"),
    ("a: [1, 2\nb: 3\n", 2, "not YAML"),
    ("a: b: c\n", 1, "not YAML"),
    ("x: *nowhere\n", 1, "undefined alias"),
    ("sweep: x\n", 1, "no `grids`"),
    (
        "sweep: x\ntask: same_different\nL: 3\nsteps: 9\n",
        2,
        "'task', 'L', 'steps': keys of a block, which is an item of the list `grids`",
    ),
    ("swep: x\ntask: same_different\nL: 3\n", 1, "did you mean 'sweep'?"),
    ("grids: 3\n", 1, "must be a list of blocks"),
    ("grids: []\n", 1, "must be a list of blocks"),
    ("grids:\n  L: 3\n", 2, "put `- ` before"),
    ("grids:\n- 3\n", 2, "a block must hold keys"),
    ("sweep: [1]\n" + block(), 1, "sweep = a list"),
    ("sweep: a/b\n" + block(), 1, "sweep = 'a/b'"),
    ("swep: x\n" + block(), 1, "did you mean 'sweep'?"),
    ("defaults: 3\n" + block(), 1, "`defaults` = 3"),
    ("defaults: {widht: 3}\n" + block(), 1, "unknown key 'widht'; did you mean 'width'?"),
    ("resources: {gpu: 1}\n" + block(), 1, "resources: unknown key 'gpu'"),
    ("resources: {gpus_per_pack: many}\n" + block(), 1, "`auto` or a number"),
    ("resources: {cpus_per_pack: 0}\n" + block(), 1, "a number > 0"),
    (block() + "    L: 4\n", 9, "key 'L' is given twice (first in line 4)"),
    ("? [a]\n: 3\n" + block(), 1, "a key must be a word"),
    ("defaults: &a {L: *a}\n" + block(L=None), 1, "stands inside the very thing"),
    ("defaults: {L: !!python/name:os.system ''}\n" + block(L=None), 1, "leave the tag out"),
    ("tasks: [nope.py]\n" + block(), 1, "no such file"),
    ("tasks: [3]\n" + block(), 1, "path of a Python file"),
    ("[" * 5000, None, "nested"),
    ("sweep: x\ngrids:\n  - {task: same_different,\n     L: 4\n", 5, "the file ends, and what opens in line 3 is not closed"),
    (b"sweep: x\n\xff\xfe\n", 2, "not a text file"),
    (b"sweep: x\n\x00\n", 2, "not a text file"),
    (b"x" * 5_000_000, None, "larger than"),
]


@pytest.mark.parametrize(("text", "line", "said"), WHOLE_FILE, ids=lambda x: repr(x[:30]) if isinstance(x, str | bytes) else "")
def test_a_bad_file(problems, text, line, said):
    message = next(m for m in problems(text) if said in m)
    assert message.startswith(f"g.yaml:{line}: " if line else "g.yaml: ")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "grid.yaml").write_text(block())
    for name, said in (
        ("gird.yaml", "did you mean"),
        ("", "is a directory"),
        ("a\0b", "cannot be read"),
        ("grid.yaml/x", "cannot be read"),
    ):
        with pytest.raises(GridError, match=said):
            load_grid(f"{tmp_path}/{name}")


def test_beside_an_unknown_task_a_misspelt_key_is_told_without_the_keys_of_all_tasks(problems):
    said = problems("defaults: {stesp: 100}\n" + block(task="same_diferent"))
    assert said[0] == "g.yaml:1: unknown key 'stesp'; did you mean 'steps'?"
    assert "did you mean 'same_different'?" in only(said[1:])


def test_a_call_whose_bracket_is_open_is_told_so(problems):
    assert only(problems(block(), "seed=range(3")).endswith("must be a whole number >= 0; its bracket is not closed")


def test_everything_wrong_is_said_at_once(problems):
    text = "sweeep: x\ndefaults: {steps: 2500}\n" + block(L="[1, 2]", gamma="0", widht="3") + "  - {task: ostrich, L: 1}\n"
    lines = problems(text, "stepz=3", "seed=-1")
    places = [line.split(": ")[0] for line in lines]
    assert places == ["g.yaml:1", "g.yaml:2", "g.yaml:6", "g.yaml:9", "g.yaml:11", "g.yaml:12", *["command line"] * 2]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("gamma", "write key=value"),
        ("=3", "write key=value"),
        ("gama=1", "unknown key 'gama'; did you mean 'gamma'?"),
        ("gamma=", "gamma is an empty list"),
        ("gamma=0", "`lazy`"),
        ("L=1", "L = 1"),
        ("L=range(2", "L = "),
        ("L=rnage(3)", "did you mean 'range'?"),
        ("L=], [", "cannot read the values"),
        ("zip=L", "`zip` stands in the grid: change it there"),
        ("find.at=0.9", "`find` (axis, metric, at, range, tolerance, falling) stands in the grid: change it there"),
        ("at=0.9", "unknown key 'at'; at is a part of `find`, and stands there in the grid; legal keys of"),
        ("task=parrot", "unknown task 'parrot'"),
        ("steps=2500", "steps = 2500"),
        ("save=activations", "unknown 'activations'"),
        ("seed=range(10**9)", "seed"),
        ("seed=range(1000000000)", "1,000,000,000 cells"),
    ],
)
def test_a_bad_override(problems, override, said):
    message = next(m for m in problems(block(), override) if said in m)
    assert message.startswith("command line: ") or "cells" in message


@pytest.mark.parametrize("task", ["parrot", "[same_different, parrot]", "3"])
def test_the_keys_of_an_unknown_task_are_not_judged(problems, task):
    message = only(problems(block(task=task, hops="3")))
    assert message.startswith("g.yaml:3: unknown task ") and "legal: cifar10, " in message


def test_an_override_given_twice(problems):
    assert "given twice" in only(problems(block(), "L=3", "L=4"))


@pytest.mark.parametrize(
    ("keys", "count"),
    [
        ({"seed": "{range: 1001}"}, "1,001"),
        ({"seed": "{range: 1000000000000}"}, "1,000,000,000,000"),
        ({"L": "{linspace: [2, 9, 1000000000]}", "seed": "{range: 30}"}, "30,000,000,000"),
        ({"L": "{range: [2, 100]}", "d": "{range: [1, 101]}", "zip": "[[seed]]"}, "9,800"),
    ],
)
def test_too_many_cells_are_counted_and_not_made(problems, keys, count):
    message = only(problems(block(**keys)))
    assert f"{count} cells" in message
    assert "--large" in message


def test_steps_are_checked_pairwise_and_with_a_zip_by_pairs(problems, tmp_path):
    assert len(problems(block(steps="[1000, 1500]", eval_every="[500, 1000]"))) == 1
    path = tmp_path / "ok.yaml"
    path.write_text(block(steps="[1000, 1500]", eval_every="[1000, 500]", zip="[[steps, eval_every]]"))
    assert len(load_grid(path).cells) == 2
    path.write_text(block(steps="[1000, 1500]", eval_every="[1000, 500]", exclude='["steps % eval_every != 0"]'))
    assert len(load_grid(path).cells) == 3
    assert "is not a multiple" in only(problems(block(steps="[1000, 1500]", eval_every="1000", exclude='["steps > 9000"]')))


def test_a_long_list_of_bad_values_is_cut_short(problems):
    lines = problems(block(seed=str([-1 - i for i in range(500)])))
    assert len(lines) == 4
    assert lines[-1].endswith("seed has 497 more wrong values")


def test_aliases_nested_in_aliases_cost_nothing(problems):
    rows = ["a0: &a0 [1, 2, 3]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40))]
    assert any(
        "unknown key 'a39'" in line for line in problems("\n".join(rows) + "\n" + block(L="*a39", zip="*a39", save="*a39"))
    )


def test_a_grid_error_survives_pickling():
    with pytest.raises(GridError) as caught:
        load_grid("/nope.yaml")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_messages_print_on_any_terminal(problems, tmp_path):
    lines = problems(block(L='"\\ud800 \\e[31m"'))
    done = subprocess.run(
        [sys.executable, "-c", f"print({lines[0]!r})"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"\x1b" not in done.stdout


# Words that grids are made of, so that what is drawn gets past the first check now and then.
WORDS = """task same_different L d sigma2 width gamma lazy seed steps eval_every dtype float64 zip exclude save curves
    range linspace geomspace pow2 log10 defaults grids tasks resources gpus_per_pack sweep"""
words = st.sampled_from(WORDS.split())
numbers = st.one_of(st.integers(-3, 12), st.integers(), st.floats(), st.sampled_from([1e308, 10**40, 1000, 2500]))
conditions = st.sampled_from(["L > d", "gamma == 'lazy'", "L >", "1 < L < 9**9", "L / 0 > 1", "d.real > 1", "'a' in L"])
scalars = st.one_of(st.none(), st.booleans(), numbers, words, conditions, st.text(max_size=8))
trees = st.recursive(
    scalars,
    lambda t: st.one_of(st.lists(t, max_size=4), st.dictionaries(st.one_of(words, st.text(max_size=5)), t, max_size=5)),
    max_leaves=12,
)
axes = st.one_of(trees, st.dictionaries(words, st.lists(numbers, max_size=3), min_size=1, max_size=1))
blocks = st.fixed_dictionaries(
    {k: st.one_of(st.just(yaml.safe_load(v)), st.just(yaml.safe_load(v)), axes) for k, v in GOOD.items()},
    optional={k: axes for k in ("zip", "exclude", "save", "steps", "eval_every", "sigma2", "dtype", "junk")},
)
grids = st.fixed_dictionaries(
    {"grids": st.one_of(st.lists(blocks, min_size=1, max_size=2), trees)},
    optional={k: trees for k in ("defaults", "tasks", "resources", "sweep", "junk")},
)
overrides = st.lists(
    st.one_of(st.text(max_size=12), st.tuples(words, st.text("0123456789.,()[]{}:lazyrange- ", max_size=12)).map("=".join)),
    max_size=2,
)

FUZZ = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def load_quietly(path, arguments) -> None:
    try:
        grid = load_grid(path, arguments, max_cells=300)
    except GridError as error:
        assert error.problems
        assert all(p.where in (str(path), "command line") or p.where.endswith(".py") for p in error.problems)
        str(error).encode()
    else:
        assert all(p.cell_id == p.cell.cell_id for p in grid.cells)


@FUZZ
@given(st.one_of(grids, trees), overrides)
def test_any_structure_loads_or_says_what_is_wrong(tmp_path, tree, arguments):
    path = tmp_path / "g.yaml"
    path.write_text(yaml.safe_dump(tree, allow_unicode=False), encoding="utf-8")
    load_quietly(path, arguments)


yaml_text = st.text(st.one_of(st.sampled_from("[]{}:-,&*!|>'\"%@`#\n \t?<=~.0123456789e_\\x"), st.characters()), max_size=60)


@FUZZ
@given(
    st.one_of(
        yaml_text.map(lambda t: t.encode(errors="replace")),
        st.binary(max_size=40),
        yaml_text.map(lambda t: (block() + t).encode(errors="replace")),
    )
)
def test_any_bytes_load_or_say_what_is_wrong(tmp_path, data):
    path = tmp_path / "g.yaml"
    path.write_bytes(data)
    load_quietly(path, [])


@pytest.mark.parametrize("name", ["part.py", "first.ipynb", "rows.parquet", "notes.md"])
def test_a_file_of_another_kind_is_no_grid(tmp_path, name):
    texts = {
        "part.py": b'"""A part."""\n\nimport os\n',
        "first.ipynb": b'{"cells": [], "nbformat": 4}',
        "notes.md": b"# a: b: c\nd: e: f",
    }
    (tmp_path / name).write_bytes(texts.get(name, b"PAR1\xff\x00\xfe"))
    with pytest.raises(GridError) as error:
        load_grid(tmp_path / name)
    [line] = str(error.value).splitlines()
    assert f"not a grid: a grid is a YAML file with the key `grids`, and this is a {Path(name).suffix} file without it" in line
    assert ("`trainings` or `metrics`" in line) == (name == "part.py")


def test_a_grid_may_have_any_name(small_grid, tmp_path):
    text = Path(small_grid).read_text()
    (tmp_path / "mine.grid").write_text(text)
    assert len(load_grid(tmp_path / "mine.grid").cells) == len(load_grid(small_grid).cells)
