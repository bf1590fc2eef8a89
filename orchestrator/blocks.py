"""A block of a grid, checked: for each of its tasks the axes, what moves together, what is searched, left out and saved."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from orchestrator.axes import SHOWN_PROBLEMS, Axis, parse_axis
from orchestrator.conditions import Condition, ConditionError, parse_condition
from orchestrator.find import Find, parse_find
from orchestrator.keys import CELL_KEYS, axis_keys, default_of, legal_keys
from orchestrator.problems import Report, listed, nearest, show
from orchestrator.yaml_lines import Item
from trainables.cells import kind_of
from trainables.tasks import Task

SAVEABLE = ("curves", "neurons", "weights")
DEFAULT_SAVE = frozenset({"curves"})


@dataclass(frozen=True)
class Block:
    """One task's product of axes. The axes of a group move together; later groups vary fastest."""

    task: type[Task]
    groups: tuple[tuple[Axis, ...], ...]
    conditions: tuple[tuple[Item, Condition], ...]
    save: frozenset[str]
    find: Find | None
    place: Item
    is_sound: bool

    @property
    def count(self) -> int:
        """Cells before exclusions and merging."""
        return math.prod(max(axis.count for axis in group) for group in self.groups)


@dataclass(frozen=True)
class Context:
    """What all blocks of a grid share."""

    defaults: Mapping[str, Item]
    overrides: Mapping[str, Item]
    tasks: Mapping[str, type[Task]]
    all_tasks_known: bool
    limit: int
    report: Report


def check_block(place: Item, ctx: Context) -> list[Block]:
    """One checked block for each task that the block names; what is wrong goes to the report."""
    own: dict[str, Item] = place.value
    given = {**ctx.defaults, **own}
    if "task" in ctx.overrides:
        given["task"] = ctx.overrides["task"]
    tasks, are_known = _tasks(given.get("task"), place, ctx)
    if are_known or ctx.all_tasks_known:
        _check_keys(own, tasks if are_known else list(ctx.tasks.values()), ctx.report)
    if not tasks:
        for name in given.keys() & CELL_KEYS.keys():
            parse_axis(CELL_KEYS[name], given[name], ctx.limit, ctx.report)
        return []
    blocks = [_one_task(task, tasks, given, place, ctx) for task in tasks]
    return blocks if are_known else []


def _tasks(item: Item | None, place: Item, ctx: Context) -> tuple[list[type[Task]], bool]:
    """The tasks that a block names, and whether all are known; one that is misspelt stands for its nearest neighbour."""
    if item is None:
        ctx.report.at(place, f"this block names no task; legal: {listed(ctx.tasks)}")
        return [], False
    parts = item.value if isinstance(item.value, list) else [item]
    if not parts:
        ctx.report.at(item, "task is an empty list; name at least one task")
    found: list[type[Task]] = []
    are_known = bool(parts)
    for part in parts:
        name = part.value
        if isinstance(name, str) and name in ctx.tasks:
            found.append(ctx.tasks[name])
            continue
        are_known = False
        if not ctx.all_tasks_known:  # the file that was to define it has its own report
            continue
        suggestion = nearest(name, ctx.tasks) if isinstance(name, str) else ""
        found += [cls for known, cls in ctx.tasks.items() if repr(known) in suggestion]
        legal = f"legal: {listed(ctx.tasks)} (a task of your own: list its file under `tasks`)"
        ctx.report.at(part, f"unknown task {show(part.value)}{suggestion or ';'} {legal}")
    return found, are_known


def _check_keys(own: Mapping[str, Item], tasks: list[type[Task]], report: Report) -> None:
    legal = dict.fromkeys(key for task in tasks for key in legal_keys(task))
    for key in own:
        if key not in legal:
            report.at(replace(own[key], line=own[key].key_line), unknown_key(key, legal, tasks))


def unknown_key(key: str, legal: Iterable[str], tasks: Iterable[type[Task]]) -> str:
    """The message for a key that none of these tasks has."""
    names = " and ".join(task.name for task in tasks)
    return f"unknown key {show(key)}{nearest(key, legal) or ';'} legal keys of {names}: {listed(legal)}"


def _one_task(task: type[Task], tasks: list[type[Task]], given: dict[str, Item], place: Item, ctx: Context) -> Block:
    report = Report()
    shared, ctx = ctx.report, replace(ctx, report=report)
    keys = axis_keys(task)
    given = {**given, **{name: item for name, item in ctx.overrides.items() if name in keys or name == "save"}}
    find, axes = None, {}
    if "find" in given:
        taken = {*place.value, *ctx.overrides}  # what `defaults` say of the key is for other blocks
        if sought := parse_find(given["find"], task, taken, ctx.limit, report):
            find, axes[sought[0].axis] = sought
    axes |= {name: parse_axis(keys[name], item, ctx.limit, report) for name, item in given.items() if name in keys.keys() - axes}
    missing = []
    for name, key in keys.items():
        if name not in axes:
            try:
                axes[name] = Axis(name, 1, (key.check(default_of(task, key)),))
            except KeyError:
                missing.append(name)
            except ValueError as error:
                report.at(place, f"the default of task {task.name} is not legal: {error}")
    if find:  # by now of the networks' defaults too: the loss, say
        _check_metric(find, task, axes, given["find"], report)
    if missing and (find or "find" not in given):  # of a find that is wrong nobody knows which axis it stands for
        report.at(place, f"this block of {task.name} does not say {listed(missing)}; give it here or under `defaults`")
    legal = dict.fromkeys(name for t in tasks for name in ["task", *axis_keys(t)])
    zipped = _zip(given.get("zip"), axes, legal, find, ctx)
    # Where something lies says nothing about a network, so no condition may ask for it.
    asked = dict.fromkeys(name for name in legal if not any(name in t.locations for t in tasks))
    conditions = _conditions(given.get("exclude"), asked, report)
    if not any({"steps", "eval_every"} & set(condition.names) for _, condition in conditions):  # else the cells will tell
        _check_steps(axes, zipped, given.get("steps", given.get("eval_every", place)), ctx)
    save = _save(given.get("save"), report)
    if "weights" in save and "gamma" not in keys:  # at equilibrium there are as many as samples
        report.at(given["save"], f"save: weights are kept of networks that learn by SGD; {task.name} saves curves and neurons")
    shared.extend(report.problems)
    # in a block of several tasks, a condition on a key that this one does not have says nothing about it
    mine = tuple((item, c) for item, c in conditions if all(name == "task" or name in keys for name in c.names))
    return Block(task, tuple(_grouped(axes, zipped)), mine, save, find, place, is_sound=not report)


def _check_metric(find: Find, task: type[Task], axes: Mapping[str, Axis], item: Item, report: Report) -> None:
    """Whether all networks of these axes have the metric."""
    kind = kind_of(task)
    legal_of = {
        (name, value): kind.measures_of(task, **{name: value})
        for name in kind.telling if name in axes for value in axes[name].values
    }  # fmt: skip
    for (name, value), legal in legal_of.items():
        if find.metric not in legal:
            all_have = [metric for metric in legal if all(metric in of_others for of_others in legal_of.values())]
            text = f"networks with {name} = {show(value)} have none; those of this block have {listed(all_have)}"
            report.at(item, f"find: metric = {show(find.metric)}: {text}")


def _zip(
    item: Item | None, axes: Mapping[str, Axis], legal: Iterable[str], find: Find | None, ctx: Context
) -> list[tuple[str, ...]]:
    """Groups of keys that move together, less the keys that the command line gives."""
    if item is None or item.value is None:
        return []
    groups: list[tuple[str, ...]] = []
    seen: set[str] = set()
    if not isinstance(item.value, list) or not all(isinstance(group.value, list) for group in item.value):
        ctx.report.at(item, f"zip = {show(item.value)}: must be a list of groups of keys, such as zip: [[L, d]]")
        return []
    for group in item.value:
        names: list[str] = []
        for part in group.value:
            name = part.value
            if not isinstance(name, str) or name not in legal or name == "task":
                choices = [key for key in legal if key != "task"]
                ctx.report.at(part, f"zip names {show(part.value)}{nearest(name, choices) or ';'} legal: {listed(choices)}")
            elif find and name == find.axis:
                ctx.report.at(part, f"zip names {name}, along which find searches: it moves alone")
            elif name in seen:
                ctx.report.at(part, f"zip names {name} twice; a key moves with one group only")
            elif name in axes:
                names.append(name)
                seen.add(name)
        if not all(name in ctx.overrides for name in names):
            names = [name for name in names if name not in ctx.overrides]
        counts = {name: axes[name].count for name in names if axes[name].values or axes[name].count > ctx.limit}
        if len(set(counts.values())) > 1:
            lengths = listed(f"{name} has {n}" for name, n in counts.items())
            ctx.report.at(group, f"the axes of a zip must be of one length: {lengths}")
        elif names:
            groups.append(tuple(names))
    return groups


def _grouped(axes: Mapping[str, Axis], zipped: list[tuple[str, ...]]) -> Iterable[tuple[Axis, ...]]:
    """Every axis in the order of the block, the zipped ones together where the first of them stands."""
    done: set[str] = set()
    for name in axes:
        if name not in done:
            group = next((names for names in zipped if name in names), (name,))
            done.update(group)
            yield tuple(axes[member] for member in group)


def _conditions(item: Item | None, legal: Iterable[str], report: Report) -> list[tuple[Item, Condition]]:
    if item is None or item.value is None:
        return []
    conditions = []
    for part in item.value if isinstance(item.value, list) else [item]:
        try:
            conditions.append((part, parse_condition(part.value, list(legal))))
        except ConditionError as error:
            report.at(part, f"exclude: {show(part.value)} {error}")
    return conditions


def _save(item: Item | None, report: Report) -> frozenset[str]:
    if item is None:
        return DEFAULT_SAVE
    parts = item.value if isinstance(item.value, list) else [item]
    for part in parts:
        if part.value not in SAVEABLE:
            report.at(
                part, f"save: unknown {show(part.value)}{nearest(part.value, SAVEABLE) or ';'} legal: {listed(SAVEABLE)}, or []"
            )
    return frozenset(part.value for part in parts if part.value in SAVEABLE)


def _check_steps(axes: Mapping[str, Axis], zipped: list[tuple[str, ...]], place: Item, ctx: Context) -> None:
    """steps must be a multiple of eval_every in every combination that the block makes of them."""
    steps, every = axes["steps"], axes["eval_every"]
    if steps.count * every.count > ctx.limit:
        return
    move_together = any({"steps", "eval_every"} <= set(names) for names in zipped)
    pairs = zip(steps.values, every.values, strict=False) if move_together else itertools.product(steps.values, every.values)
    wrong = [(s, e) for s, e in dict.fromkeys(pairs) if s % e]
    for s, e in wrong[:SHOWN_PROBLEMS]:
        near = listed(map(str, [s - s % e] * (s > e) + [s - s % e + e]))
        ctx.report.at(place, f"steps = {s} is not a multiple of eval_every = {e}; the nearest that are: {near}")
