"""From a checked block to its cells and their ids: 100,000 in a second or so.

A cell's id is the hash of its keys as text (Cell.cell_id); here the text of every value is made once for its axis.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from orchestrator.axes import SHOWN_PROBLEMS
from orchestrator.blocks import Block
from orchestrator.conditions import Condition, ConditionError, LazyGamma
from orchestrator.keys import LAZY
from orchestrator.problems import Report, listed, pydantic_reason, show
from orchestrator.yaml_lines import Item
from trainables.basics import TaskError
from trainables.cell import AnyCell, lazy_gamma
from trainables.cells import kind_of
from trainables.tasks import Task


@dataclass(frozen=True)
class _Resolved:
    """A task that many cells share, with all that is computed from it alone."""

    task: Task
    lazy: float
    version: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]


def _text(key: str, value: Any) -> str:
    """One line of what Cell.cell_id hashes."""
    return f"{key}={value!r}"


def _picker(indices: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """itemgetter that gives a tuple for one index, and for none."""
    if len(indices) > 1:
        return itemgetter(*indices)
    return lambda values: tuple(values[i] for i in indices)


def expand(block: Block, report: Report) -> Iterator[tuple[str, AnyCell]]:
    """Id and cell of every point of the block's product that no condition excludes; stops after a few that are wrong."""
    axes = [axis for group in block.groups for axis in group]
    is_task_key = [axis.key in block.task.model_fields for axis in axes]
    pick_task = _picker([i for i, is_task in enumerate(is_task_key) if is_task])
    pick_cell = _picker([i for i, is_task in enumerate(is_task_key) if not is_task])
    task_keys, cell_keys = pick_task([a.key for a in axes]), pick_cell([a.key for a in axes])
    given = {"task", *cell_keys}
    names = [*cell_keys, "task", *(name for name in block.task.model_fields if name not in block.task.locations)]
    in_id_order = _picker(sorted(range(len(names)), key=names.__getitem__))
    gamma = cell_keys.index("gamma") if "gamma" in cell_keys else None
    kind = kind_of(block.task)
    is_excluded = _excluder(block, names, report)

    values = [list(zip(*(axis.values for axis in group), strict=True)) for group in block.groups]
    texts = [list(zip(*([_text(axis.key, v) for v in axis.values] for axis in group), strict=True)) for group in block.groups]
    resolved: dict[tuple[str, ...], _Resolved | None] = {}
    reasons: set[str] = set()
    flat = itertools.chain.from_iterable
    n_wrong = 0
    for value_point, text_point in zip(itertools.product(*values), itertools.product(*texts), strict=True):
        point, point_texts = tuple(flat(value_point)), tuple(flat(text_point))
        task_texts = pick_task(point_texts)
        if task_texts not in resolved:
            keys = dict(zip(task_keys, pick_task(point), strict=True))
            resolved[task_texts] = _resolve(block, keys, report, reasons)
        task = resolved[task_texts]
        if n_wrong + len(reasons) >= SHOWN_PROBLEMS:
            return
        if task is None:
            continue
        cell_values, cell_texts = list(pick_cell(point)), pick_cell(point_texts)
        if gamma is not None and cell_values[gamma] == LAZY:
            cell_values[gamma] = task.lazy
            cell_texts = (*cell_texts[:gamma], _text("gamma", task.lazy), *cell_texts[gamma + 1 :])
        all_texts = cell_texts + task.texts
        try:
            if is_excluded and is_excluded(all_texts, (*cell_values, *task.values), task.lazy):
                continue
            cell = kind(task=task.task, **dict(zip(cell_keys, cell_values, strict=True)))
            # Which fields were given is the same for all: a set of its own would be half of what a cell takes in memory.
            object.__setattr__(cell, "__pydantic_fields_set__", given)
        except ValidationError as error:
            report.at(block.place, f"no such network: {pydantic_reason(error)}")
            n_wrong += 1
            continue
        text = task.version + "\n" + "\n".join(in_id_order(all_texts))
        yield hashlib.sha256(text.encode()).hexdigest()[:20], cell


def _resolve(block: Block, keys: dict[str, Any], report: Report, reasons: set[str]) -> _Resolved | None:
    """The task with these keys; None, with a report, where its own checks refuse them: once for each reason."""
    given = listed(f"{k} = {show(v)}" for k, v in keys.items())
    try:
        block.task.obtain(keys)
        task = block.task(**keys)
        lazy = float(lazy_gamma(task))
    except (ValidationError, TaskError) as error:
        reason = pydantic_reason(error) if isinstance(error, ValidationError) else str(error)
        if reason not in reasons:
            report.at(block.place, f"task {block.task.name} refuses {given}: {reason}")
        reasons.add(reason)
        return None
    except Exception as error:  # noqa: BLE001 - a user's own task may raise anything
        reason = f"{type(error).__name__}: {error}"
        if reason not in reasons:
            report.at(block.place, f"task {block.task.name} fails for {given}: {reason}")
        reasons.add(reason)
        return None
    fields = task.identity()
    texts = (_text("task", task.name), *(_text(k, v) for k, v in fields.items()))
    return _Resolved(task, lazy, kind_of(block.task).version_of(task), (task.name, *fields.values()), texts)


def _excluder(block: Block, names: list[str], report: Report) -> Callable[[tuple[str, ...], tuple[Any, ...], float], bool] | None:
    """Tells from a cell's texts, values and lazy gamma whether to leave it out; asks each combination of the named keys once."""
    if not block.conditions:
        return None
    used = dict.fromkeys(name for _, condition in block.conditions for name in condition.names)
    pick = _picker([names.index(name) for name in used])
    verdicts: dict[tuple[float, tuple[str, ...]], bool] = {}
    failed: set[Condition] = set()

    def holds(item: Item, condition: Condition, env: dict[str, Any]) -> bool:
        try:
            return condition.holds(env)
        except ConditionError as error:
            if condition not in failed:  # once is enough
                report.at(item, f"exclude: {show(item.value)} {error}")
                failed.add(condition)
            return False

    def is_excluded(texts: tuple[str, ...], values: tuple[Any, ...], lazy: float) -> bool:
        point = (lazy, pick(texts))
        if point not in verdicts:
            env = dict(zip(used, pick(values), strict=True))
            if env.get("gamma") == lazy:
                env["gamma"] = LazyGamma(lazy)
            verdicts[point] = any(holds(item, condition, env) for item, condition in block.conditions)
        return verdicts[point]

    return is_excluded
