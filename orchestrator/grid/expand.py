"""Expansion of a checked block to its cells and their ids: some 100,000 per second.

The id of a cell is the hash of its keys as text (Cell.cell_id). For speed, the text of each value is made once per axis.
"""

import hashlib
import itertools
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from orchestrator.grid.blocks import Block
from orchestrator.grid.keys import LAZY, Kind
from orchestrator.grid.syntax.axes import SHOWN_PROBLEMS, Axis
from orchestrator.grid.syntax.conditions import Condition, ConditionError, LazyGamma
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.exit_codes import Interrupted
from sweepkit.console.words import in_a_line, listed, pydantic_reason, show
from sweepkit.console.yaml_lines import Item
from trainables.basics import TaskError
from trainables.cell import Cell, hashed_keys
from trainables.parts import Part
from trainables.tasks import Task

P = TypeVar("P", bound=Part)
Text = str | None
"""One line of the text that Cell.cell_id hashes; None if the key does not enter the id at this value."""
Texts = tuple[Text, ...]


@dataclass(frozen=True)
class _Resolved:
    """A task that many cells share, with the values and texts of its keys."""

    task: Task
    values: tuple[Any, ...]
    texts: Texts


@dataclass(frozen=True)
class _Parts:
    """A network and a training that many cells share, checked with their task."""

    cell: Cell | None
    """One of these cells; None if the keys are refused."""
    version: str
    lazy: float
    refusal: str = ""
    """Why these keys are refused together; empty if they are not."""
    raised: BaseException | None = None
    """The exception of a user's own network or training, if that is why."""


class _Shared(NamedTuple):
    """The common facts of cells that differ only in their seeds."""

    parts: _Parts
    head: str
    """The hashed text before the line of the seed."""
    tail: str
    """The hashed text after the line of the seed."""
    texts: Texts
    values: tuple[Any, ...]


def _picker(indices: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Like itemgetter, but the result is a tuple for one index and for no index, too."""
    if len(indices) > 1:
        return itemgetter(*indices)
    return lambda values: tuple(values[i] for i in indices)


def expand(block: Block, report: Report) -> Iterator[tuple[str, Cell]]:
    """Id and cell of every point of the block's product that no condition excludes. Stops after a few wrong points."""
    kind = block.kind
    groups = [group for group in block.groups if len(group[0].values) > 1]
    constant = [group for group in block.groups if len(group[0].values) == 1]
    # As a rule seeds vary fastest. Cells that differ only in the seed share everything that is worked out in `_Shared`.
    inner = [group for group in [*groups[-1:], *constant] if [axis.key for axis in group] == ["seed"]]
    groups, constant = ([group for group in some if group not in inner] for some in (groups, constant))
    axes = [axis for group in [*groups, *constant] for axis in group]
    is_task_key = [axis.key in kind.task.model_fields for axis in axes]
    pick_task = _picker([i for i, is_task in enumerate(is_task_key) if is_task])
    pick_cell = _picker([i for i, axis in enumerate(axes) if not is_task_key[i] and axis.key != "seed"])
    task_keys, cell_keys = pick_task([a.key for a in axes]), pick_cell([a.key for a in axes])
    names = [*cell_keys, "task", *(name for name in kind.task.model_fields if name not in kind.task.locations)]
    before_seed = _picker(sorted((i for i, name in enumerate(names) if name < "seed"), key=names.__getitem__))
    after_seed = _picker(sorted((i for i, name in enumerate(names) if name > "seed"), key=names.__getitem__))
    gamma = cell_keys.index("gamma") if "gamma" in cell_keys else None
    is_excluded = _excluder(block, [*names, "seed"], report)
    text_of = _texts(block)

    def points(some: Iterable[tuple[Axis, ...]]) -> Iterator[tuple[tuple[Any, ...], Texts]]:
        """Values and texts of each point of the groups' product."""
        values = [list(zip(*(axis.values for axis in group), strict=True)) for group in some]
        texts = [list(zip(*([text_of(axis.key, v) for v in axis.values] for axis in group), strict=True)) for group in some]
        flat = itertools.chain.from_iterable
        for value_point, text_point in zip(itertools.product(*values), itertools.product(*texts), strict=True):
            yield tuple(flat(value_point)), tuple(flat(text_point))

    [(constant_values, constant_texts)] = points(constant)
    seeds = [(value, text) for (value,), (text,) in points(inner)] if inner else []
    seed = next((i for i, axis in enumerate(axes) if axis.key == "seed"), -1)
    pick_shared = _picker([i for i in range(sum(map(len, groups))) if i != seed])
    shared: dict[tuple[Any, ...], _Shared] = {}
    resolved: dict[Texts, _Resolved | None] = {}
    fitting, fitted = _Fitting(kind), dict[tuple[int, tuple[Any, ...]], _Parts]()
    refused: set[int] = set()
    reasons: set[str] = set()
    for varying_values, varying_texts in points(groups):
        if len(refused) + len(reasons) >= SHOWN_PROBLEMS:
            return
        point, point_texts = varying_values + constant_values, varying_texts + constant_texts
        but_seed = pick_shared(varying_values)
        found = shared.get(but_seed)
        if found is None:
            task_texts = pick_task(point_texts)
            if task_texts not in resolved:
                keys = dict(zip(task_keys, pick_task(point), strict=True))
                resolved[task_texts] = _resolve(block, keys, report, reasons)
            task = resolved[task_texts]
            if task is None:
                continue
            cell_values, cell_texts = pick_cell(point), pick_cell(point_texts)
            of_parts = (id(task), cell_values)
            if of_parts not in fitted:
                fitted[of_parts] = fitting.fitted(task.task, dict(zip(cell_keys, cell_values, strict=True)))
            parts = fitted[of_parts]
            if gamma is not None and cell_values[gamma] == LAZY:
                cell_values = (*cell_values[:gamma], parts.lazy, *cell_values[gamma + 1 :])
                cell_texts = (*cell_texts[:gamma], text_of("gamma", parts.lazy), *cell_texts[gamma + 1 :])
            texts = cell_texts + task.texts
            head = "".join(f"{text}\n" for text in (parts.version, *before_seed(texts)) if text)
            tail = "".join(f"\n{text}" for text in after_seed(texts) if text)
            found = _Shared(parts, head, tail, texts, (*cell_values, *task.values))
            if not seeds:
                shared[but_seed] = found
        cell, lazy = found.parts.cell, found.parts.lazy
        for value, text in seeds or [(point[seed], point_texts[seed])]:
            if is_excluded and is_excluded((*found.texts, text), (*found.values, value), lazy):
                continue
            if cell is None:
                if id(found.parts) not in refused:
                    report.at(block.place, found.parts.refusal, found.parts.raised)
                    refused.add(id(found.parts))
                break
            yield hashlib.sha256(f"{found.head}{text}{found.tail}".encode()).hexdigest()[:20], _with_seed(cell, value)


def _with_seed(cell: Cell, seed: int) -> Cell:
    """The cell with another seed, in a quarter of pydantic's time. The seed was checked with its axis."""
    made = Cell.__new__(Cell)
    object.__setattr__(made, "__dict__", cell.__dict__ | {"seed": seed})
    # All cells share the set of given fields: a set of its own would be half of a cell's memory.
    object.__setattr__(made, "__pydantic_fields_set__", cell.__pydantic_fields_set__)
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def _texts(block: Block) -> Callable[[str, Any], Text]:
    """A function that gives the line of a key and its value in the text that Cell.cell_id hashes."""
    kind = block.kind
    rules = hashed_keys(kind.task, kind.network, kind.training)

    def text_of(key: str, value: Any) -> Text:
        rule = rules.get(key)  # none for a place
        return f"{key}={value!r}" if rule and (rule.always or value != rule.default) else None

    return text_of


class _Fitting:
    """Makes the networks and trainings of cells, each once."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.networks = {network.name: network for network in kind.networks}
        self.made: dict[tuple[type[Part], tuple[Any, ...]], Any] = {}
        self.lazy: dict[tuple[Any, ...], float] = {}
        self.versions: dict[tuple[Any, ...], str] = {}

    def fitted(self, task: Task, keys: dict[str, Any]) -> _Parts:
        """Network and training with these keys. A refusal if the keys are not legal together or do not fit the task."""
        network, training = self.networks[keys["network"]], self.kind.training
        own = {name: keys[name] for name in network.model_fields}
        asked = (id(task), network, *(value for name, value in own.items() if name != "gamma"))
        lazy = math.nan
        try:
            if asked not in self.lazy:
                self.lazy[asked] = network.model_construct(**own).lazy_gamma(task)
            lazy = self.lazy[asked]
            if own.get("gamma") == LAZY:
                own["gamma"] = lazy
            cell = Cell(task=task, network=self._made(network, own), training=self._made(training, keys), seed=0)
            if asked not in self.versions:
                self.versions[asked] = cell.version
            return _Parts(cell, self.versions[asked], lazy)
        except ValidationError as error:
            are_apart = all(problem["loc"] for problem in error.errors())  # each is of one key, by itself
            of_network = error.title == network.__name__  # with any task
            together = "" if are_apart else f"network {network.name}: " if of_network else "these keys do not go together: "
            return _Parts(None, "", lazy, f"{together}{pydantic_reason(error)}")
        except Interrupted:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's own network or training may raise anything
            given = listed(f"{k} = {show(v)}" for k, v in task.identity().items())
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            part: type[Part] = training if any(isinstance(f.f_locals.get("self"), training) for f in frames) else network
            text = f"{part.role} {part.name} with task {task.name} fails for {given}: {in_a_line(error)}"
            return _Parts(None, "", lazy, text, error)

    def _made(self, part: type[P], keys: dict[str, Any]) -> P:
        of = (part, tuple([keys[name] for name in part.model_fields]))
        if of not in self.made:
            self.made[of] = part(**dict(zip(part.model_fields, of[1], strict=True)))
        found: P = self.made[of]
        return found


def _resolve(block: Block, keys: dict[str, Any], report: Report, reasons: set[str]) -> _Resolved | None:
    """The task with these keys. None if its own checks refuse them; each reason is reported once."""
    kind = block.kind.task
    given = listed(f"{k} = {show(v)}" for k, v in keys.items() if v is not None)
    try:
        kind.obtain(keys)
        task = kind(**keys)
        float(1 / getattr(task, "richness_scale", 1.0))  # a user's own task may define it as zero or as no number
    except (ValidationError, TaskError) as error:
        reason = pydantic_reason(error) if isinstance(error, ValidationError) else str(error)
        if reason not in reasons:
            report.at(block.place, f"task {kind.name} refuses {given}: {reason}")
        reasons.add(reason)
        return None
    except Interrupted:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's own task may raise anything
        reason = in_a_line(error)
        if reason not in reasons:
            report.at(block.place, f"task {kind.name} fails for {given}: {reason}", error)
        reasons.add(reason)
        return None
    fields = task.identity()
    text_of = _texts(block)
    texts = (f"task={task.name!r}", *(text_of(k, v) for k, v in fields.items()))
    return _Resolved(task, (task.name, *fields.values()), texts)


def _excluder(block: Block, names: list[str], report: Report) -> Callable[[Texts, tuple[Any, ...], float], bool] | None:
    """A function that tells from a cell's texts, values and lazy gamma whether to leave the cell out; None without conditions.

    Each combination of the keys that the conditions name is evaluated once.
    """
    if not block.conditions:
        return None
    used = dict.fromkeys(name for _, condition in block.conditions for name in condition.names)
    pick = _picker([names.index(name) for name in used])
    verdicts: dict[tuple[float, Texts], bool] = {}
    failed: set[Condition] = set()

    def holds(item: Item, condition: Condition, env: dict[str, Any]) -> bool:
        try:
            return condition.holds(env)
        except ConditionError as error:
            if condition not in failed:  # one report is enough
                report.at(item, f"exclude: {show(item.value)} {error}")
                failed.add(condition)
            return False

    def is_excluded(texts: Texts, values: tuple[Any, ...], lazy: float) -> bool:
        point = (lazy, pick(texts))
        if point not in verdicts:
            env = dict(zip(used, pick(values), strict=True))
            if env.get("gamma") == lazy:
                env["gamma"] = LazyGamma(lazy)
            verdicts[point] = any(holds(item, condition, env) for item, condition in block.conditions)
        return verdicts[point]

    return is_excluded
