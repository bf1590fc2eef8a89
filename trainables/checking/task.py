"""Check of a task before anything trains: shapes, values, and draws that can be repeated."""

from collections.abc import Iterator
from functools import partial
from typing import Any, get_args

import numpy as np

from trainables.checking.part import Checked, Finding, Wrong, collected, drawn_twice
from trainables.checking.values import as_words, fresh_generator, not_finite, shown
from trainables.tasks import Task
from trainables.tasks.base import Array, Inputs, Targets

N = 64
"""Examples per draw; a task with a fixed training set draws all of it."""
N_LABELS = 512
"""Examples that are drawn if the first ones all have one label."""


def check_task(task: Task, is_sampled: bool = False) -> list[Finding]:
    """Findings on the task's draws, with the task's keys; `is_sampled`: for networks at equilibrium."""
    return collected(_of_task(task, is_sampled))


def _of_task(task: Task, is_sampled: bool) -> Iterator[Finding]:
    part = Checked(f"task {task.name}", type(task))
    if part.call("preparations", task.preparations):
        return  # a draw would make the task's files, which happens later
    for name, legal in (("inputs", get_args(Inputs)), ("targets", get_args(Targets))):
        if (kind := getattr(task, name)) not in legal:
            raise Wrong(part.finding("", f"{name} = {kind!r}; wanted one of {', '.join(legal)}"))
    sizes = ["input_dim", "n_outputs", *(["n_tokens"] if task.inputs == "tokens" else [])]
    for name in [*sizes, *(["n_train"] if part.call("n_train", lambda: task.n_train) is not None else [])]:
        size = part.call(name, partial(getattr, task, name))
        least = 2 if name == "n_outputs" and task.targets == "classes" else 1
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < least:
            of_classes = ", the number of classes" if least == 2 else ""
            raise Wrong(part.finding(name, f"is {shown(size)}; wanted a whole number of at least {least}{of_classes}"))
    if task.targets == "binary" and task.n_outputs != 1:
        hint = 'for classes set targets: ClassVar = "classes"'
        yield part.finding("n_outputs", f'is {task.n_outputs}; wanted 1 (targets = "binary"); {hint}')
    symbols = yield from drawn_twice(part, "draw_symbols", lambda rng: task.draw_symbols(rng))
    if is_sampled and not _are_directions(symbols, task.input_dim):
        d = task.input_dim
        wanted = f"wanted unit vectors ({d},) or (K, {d}): training langevin tells how neurons align with them"
        raise Wrong(part.finding("draw_symbols", f"gave {shown(symbols)}; {wanted}"))
    for name, n in (("train_examples", task.n_train or N), ("test_examples", N)):
        drawn = yield from drawn_twice(part, name, partial(_draw, task, name, symbols, n))
        problems = list(_examples(task, n, drawn))
        yield from (part.finding(name, problem) for problem in problems)
        if not problems and task.targets != "real" and len(np.unique(drawn[1])) == 1:
            more = part.call(name, partial(_draw, task, name, symbols, task.n_train or N_LABELS, fresh_generator()))[1]
            if len(labels := np.unique(more)) == 1:
                yield part.finding(name, f"gave {len(more)} labels that are all {as_words(labels)}", is_wrong=False)


def _are_directions(symbols: Any, n: int) -> bool:
    if not isinstance(symbols, np.ndarray) or symbols.dtype.kind != "f" or symbols.ndim not in (1, 2) or symbols.shape[-1] != n:
        return False
    return bool(np.allclose(np.linalg.norm(symbols, axis=-1), 1, atol=1e-5))  # float32 rounds to 1e-7


def _draw(task: Task, name: str, symbols: Any, n: int, rng: np.random.Generator) -> Any:
    return getattr(task, name)(rng, symbols, n)


def _examples(task: Task, n: int, drawn: Any) -> Iterator[str]:
    """Problems of a draw of n examples."""
    if not (isinstance(drawn, tuple | list) and len(drawn) == 2 and all(isinstance(values, np.ndarray) for values in drawn)):
        yield f"gave {shown(drawn)}; wanted two arrays, inputs and targets"
        return
    x, y = drawn
    if x.shape != (n, task.input_dim):
        yield f"gave inputs of shape {x.shape}; wanted {(n, task.input_dim)}: n examples of input_dim numbers"
    elif task.inputs == "tokens" and (x.dtype.kind not in "iu" or ((x < 0) | (x >= task.n_tokens)).any()):
        wanted = f"whole numbers 0 to {task.n_tokens - 1} (n_tokens = {task.n_tokens})"
        yield f'gave inputs of type {x.dtype} from {_ends(x)}; wanted {wanted} (inputs = "tokens")'
    elif task.inputs == "vector" and x.dtype.kind not in "fiub":
        yield f"gave inputs of type {x.dtype}; wanted numbers: x.astype(np.float32)"
    elif task.inputs == "vector" and not np.isfinite(x).all():
        yield f"gave inputs that hold {not_finite(x)}; wanted finite numbers"
    yield from _targets(task, n, y)


def _targets(task: Task, n: int, y: Array) -> Iterator[str]:
    is_vector = task.targets == "real" and task.n_outputs > 1
    shape = (n, task.n_outputs) if is_vector else (n,)
    if task.n_answers > 1:
        shape = (n, task.n_answers)
    if y.shape != shape:
        length = f", as n_outputs is {task.n_outputs}" if is_vector else ""
        yield f'gave targets of shape {y.shape}; wanted {shape} (targets = "{task.targets}"){length}'
        return
    if y.dtype.kind not in "biuf":
        yield f"gave targets of type {y.dtype}; wanted numbers"
        return
    if not np.isfinite(y).all():
        yield f"gave targets that hold {not_finite(y)}; wanted finite numbers"
        return
    if task.targets == "real":
        return
    n_classes = task.n_outputs if task.targets == "classes" else 2
    values = np.unique(y)
    if np.isin(values, np.arange(n_classes)).all():
        return
    if task.targets == "binary":
        are_classes = (values == np.round(values)).all() and values.min() >= 0
        hint = 'for classes set targets: ClassVar = "classes" and n_outputs' if are_classes else ""
        yield f'gave labels {as_words(values)}; wanted 0 and 1 (targets = "binary"); ' + (
            hint or 'for numbers set targets: ClassVar = "real"'
        )
    else:
        wanted = f"whole numbers 0 to {n_classes - 1}"
        yield f'gave labels {as_words(values)}; wanted {wanted} (targets = "classes", n_outputs = {n_classes})'


def _ends(x: Array) -> str:
    return f"{x.min()} to {x.max()}" if x.dtype.kind in "biuf" and x.size else "other things"
