"""Checked blocks of a grid. A block holds the axes in groups, the search, the exclusions and the extras of one kind of cell."""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.grid.context import Context
from orchestrator.grid.find import Find, find_metrics, parse_find
from orchestrator.grid.hints import unknown_key
from orchestrator.grid.keys import PARTS, Kind, alike, axis_keys, default_value, legal_keys, part_axis_keys, part_key, usual_kind
from orchestrator.grid.ruled_out import IsOut, apart, is_pair, ruled_out
from orchestrator.grid.saving import check_save
from orchestrator.grid.syntax.axes import SHOWN_PROBLEMS, Axis, parse_axis
from orchestrator.grid.syntax.conditions import Condition, ConditionError, parse_condition
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.metrics import METRICS
from sweepkit.declarations.synonyms import meant
from trainables.networks import Network
from trainables.tasks import Task
from trainables.training import Training


@dataclass(frozen=True)
class Block:
    """The product of the axes of one kind of cell. The axes of a group move together; the last group varies fastest."""

    kind: Kind
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


def check_block(place: Item, ctx: Context) -> list[Block]:
    """One checked block for each kind of cell that the block names; problems go to the report."""
    own: dict[str, Item] = place.value
    given = {**ctx.defaults, **own, **{name: ctx.overrides[name] for name in ("task", *PARTS) if name in ctx.overrides}}
    tasks, are_known = _tasks(given.get("task"), place, ctx)
    trainings, trainings_known = _trainings(given.get("training"), ctx)
    awaited = _awaited(given, ctx)
    networks_known = True
    kinds: list[Kind] = []
    is_out = ruled_out(given, ctx.overrides, ctx.report)
    for task in tasks:
        for training in trainings or [None]:
            usual = usual_kind(task, training)
            found = [] if is_out(task.name, usual.network.name, usual.training.name) else [usual]
            if "network" in given and "training" not in awaited:
                named, known = _networks(given, task, usual.training, is_out, ctx)
                networks_known &= known
                found = [Kind(task, group, usual.training) for group in alike(named)] or [usual] * (not known)
            kinds += found
    if tasks and not kinds and not awaited:
        ctx.report.at(given.get("exclude", place), "exclude leaves no network, task and training of this block together")
        return []
    # Nobody knows the keys of an unknown task: the nearest name may be that of another task than the one that is meant.
    has_unknown_task = "task" in given and not are_known
    # The keys of a network or training whose file was refused are not those of one of the package that has its name.
    has_own_keys = ctx.all_files_known or not given.keys() & {*PARTS}
    if has_own_keys and ((are_known and trainings_known and networks_known) or (ctx.all_files_known and not has_unknown_task)):
        # A key of some training may be that of an unknown one.
        others = [] if trainings_known else list(ctx.trainings.values())
        of_others = [kind._replace(training=other) for kind in kinds for other in others if other.family == kind.training.family]
        _check_keys(own, [*kinds, *of_others] or [usual_kind(task) for task in ctx.tasks.values()], ctx)
    if not tasks:
        legal = part_axis_keys()
        for name in given.keys() & legal.keys():
            parse_axis(legal[name], given[name], ctx.limit, ctx.report)
        return []
    if awaited:  # the file has its own report, and nobody knows what is legal there
        sure = {n: key for kind in kinds for n, key in axis_keys(kind).items() if n not in (*PARTS, *kind.network.model_fields)}
        if "training" in awaited:
            sure = {n: key for n, key in sure.items() if not any(n in kind.training.model_fields for kind in kinds)}
        for name in given.keys() & sure.keys():
            parse_axis(sure[name], given[name], ctx.limit, ctx.report)
        return []
    blocks = [_one_kind(kind, kinds, given, place, ctx) for kind in kinds]
    return blocks if are_known and trainings_known and networks_known else []


def _awaited(given: Mapping[str, Item], ctx: Context) -> set[str]:
    """The network, training and metric to search by of a block that may be in a file which could not be read."""
    if ctx.all_files_known:
        return set()
    find = given["find"].value if "find" in given else None
    named = {name: given[name].items for name in PARTS if name in given}
    named |= {"metric": [find["metric"]]} if isinstance(find, dict) and "metric" in find else {}
    networks = [network.name for network in ctx.networks]
    known: dict[str, Collection[str]] = {
        "network": networks, "training": ctx.trainings, "metric": (*METRICS, *ctx.metrics),
    }  # fmt: skip
    return {role for role, parts in named.items() for p in parts if isinstance(p.value, str) and p.value not in known[role]}


def _trainings(item: Item | None, ctx: Context) -> tuple[list[type[Training] | None], bool]:
    """The trainings that a block names, perhaps none, and whether all of them are known."""
    if item is None:
        return [], True
    legal = dict(sorted(ctx.trainings.items()))
    if not ctx.all_files_known and any(isinstance(part.value, str) and part.value not in legal for part in item.items):
        return [legal[part.value] for part in item.items if part.value in legal], False
    axis = parse_axis(part_key("training", legal), item, ctx.limit, ctx.report)
    return [legal[name] for name in axis.values], bool(axis.values)


def _networks(
    given: Mapping[str, Item], task: type[Task], training: type[Training], is_out: IsOut, ctx: Context
) -> tuple[list[type[Network]], bool]:
    """The networks of a block with this task and training, and whether all are known and this training can train them."""
    legal = {network.name: network for network in ctx.networks if network.family == training.family}
    others = {network.name for network in ctx.networks} - legal.keys()
    item = given["network"]
    every = item.items
    parts = [part for part in every if not (isinstance(part.value, str) and is_out(task.name, part.value, training.name))]
    if every and not parts:
        return [], True
    if wrong := [part for part in parts if isinstance(part.value, str) and part.value in others]:
        family_of = {network.name: network.family for network in ctx.networks}
        for part in wrong:
            can = [name for name, one in sorted(ctx.trainings.items()) if one.family == family_of[part.value]]
            told = f"training {training.name} cannot train it; legal: {listed(legal)}{apart(given, part.value, training.name)}"
            told += f"; or add `training: `, one of {listed(can)}" if "training" not in given and can else ""
            ctx.report.at(part, f"network = {show(part.value)}: {told}")
        return [legal[part.value] for part in parts if part.value in legal], False
    if not ctx.all_files_known and any(isinstance(part.value, str) and part.value not in legal for part in parts):
        return [legal[part.value] for part in parts if part.value in legal], False
    named = replace(item, value=parts) if isinstance(item.value, list) else item
    axis = parse_axis(part_key("network", legal), named, ctx.limit, ctx.report)
    return [legal[name] for name in axis.values], bool(axis.values)


def _tasks(item: Item | None, place: Item, ctx: Context) -> tuple[list[type[Task]], bool]:
    """The known tasks that a block names, and whether all are known."""
    if item is None:
        ctx.report.at(place, f"this block names no task; legal: {listed(ctx.tasks)}")
        return [], False
    parts = item.items
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
        if not ctx.all_files_known:  # the file that should define it has its own report
            continue
        suggestion = nearest(name, ctx.tasks) if isinstance(name, str) else ""
        legal = f"legal: {listed(ctx.tasks)} (a task of your own: list its file under `tasks`)"
        ctx.report.at(part, f"unknown task {show(part.value)}{suggestion or ';'} {legal}")
    return found, are_known


def _check_keys(own: Mapping[str, Item], kinds: Sequence[Kind], ctx: Context) -> None:
    legal = dict.fromkeys(key for kind in kinds for key in legal_keys(kind))
    for key in own:
        if key not in legal:
            ctx.report.at(replace(own[key], line=own[key].key_line), unknown_key(key, legal, kinds, ctx))


def _one_kind(kind: Kind, kinds: Sequence[Kind], given: dict[str, Item], place: Item, ctx: Context) -> Block:
    report = Report()
    without, wanted = replace(ctx, overrides={}), given
    shared, ctx = ctx.report, replace(ctx, report=report)
    keys, task = axis_keys(kind), kind.task
    _check_names(kind, place, report)
    given = {**given, **{name: item for name, item in ctx.overrides.items() if name in keys or name == "save"}}
    find: Find | None = None
    axes: dict[str, Axis] = {}
    if "find" in given:
        taken = {**place.value, **ctx.overrides}  # without `defaults`: their value of the searched key is for other blocks
        if sought := parse_find(given["find"], kind, taken, ctx.metrics, ctx.limit, report):
            find, axes[sought[0].axis] = sought
    for name, item in given.items():
        if name in PARTS:  # checked in check_block; this kind has some of the names
            names = [n.name for n in kind.networks] if name == "network" else [kind.training.name]
            axes[name] = Axis(name, len(names), tuple(names))
        elif name in keys and name not in axes:
            axes[name] = parse_axis(keys[name], item, ctx.limit, report, _left_out(kind, name))
    missing = []
    for name, key in keys.items():
        if name not in axes:
            try:
                axes[name] = Axis(name, 1, (key.check(default_value(kind, name)),))
            except KeyError:
                missing.append(name)
            except ValueError as error:
                report.at(place, f"the default of task {task.name} is not legal: {error}")
    if find:  # only now do `axes` hold the defaults too, such as the loss
        _check_metric(find, kind, axes, given["find"], report)
    if missing and (find or "find" not in given):  # a wrong `find` may stand for one of the missing keys
        report.at(place, f"this block of {task.name} does not say {listed(missing)}; give it here or under `defaults`")
    legal = dict.fromkeys(name for k in kinds for name in ["task", *axis_keys(k)])
    zipped = _zip(given.get("zip"), axes, legal, find, sum(k.task is task for k in kinds) > 1, ctx)
    # The place of data or weights says nothing about a network, so no condition may ask for it.
    places = {name for k in kinds for part in (k.task, *k.networks) for name in part.locations}
    asked = dict.fromkeys(name for name in legal if name not in places)
    conditions = _conditions(given.get("exclude"), asked, report)
    if not any({"steps", "eval_every"} & set(condition.names) for _, condition in conditions):  # else later, cell by cell
        _check_steps(axes, zipped, given, place, ctx)
    save = check_save(given.get("save"), kind, kinds, ctx)
    if find and find.metric in ctx.metrics:
        save |= {find.metric}
    if report and ctx.overrides and not _is_chosen(kind, ctx):
        return _one_kind(kind, kinds, wanted, place, without)
    shared.extend(report.problems)
    # in a block of several kinds, a condition on a key that this kind does not have excludes none of its cells
    mine = tuple((item, c) for item, c in conditions if all(name == "task" or name in keys for name in c.names))
    return Block(kind, tuple(_grouped(axes, zipped)), mine, save, find, place, is_sound=not report)


def _is_chosen(kind: Kind, ctx: Context) -> bool:
    """True if `--only` may choose cells of this kind, by the names of its parts."""
    names = {"task": {kind.task.name}, "network": {n.name for n in kind.networks}, "training": {kind.training.name}}
    return all(names[role] & {str(part.value) for part in ctx.chosen[role].items} for role in names.keys() & ctx.chosen.keys())


def _left_out(kind: Kind, name: str) -> str:
    """Words for what this kind of cell takes where a grid leaves the key out; none if it must be given."""
    try:
        return f"; left out, it is {show(default_value(kind, name))} with task {kind.task.name}"
    except KeyError:
        return ""


def _check_names(kind: Kind, place: Item, report: Report) -> None:
    """Report keys of two parts with the same name; the results do not distinguish names by case."""
    owners: dict[str, str] = {}
    for part in (kind.task, kind.network, kind.training):
        for name in part.model_fields:
            owner = owners.setdefault(name.lower(), f"{part.role} {part.name}")
            if owner != f"{part.role} {part.name}":
                report.at(place, f"{owner} and {part.role} {part.name} both have a key {name}, and a cell can hold one")


def _check_metric(find: Find, kind: Kind, axes: Mapping[str, Axis], item: Item, report: Report) -> None:
    """Report networks of these axes that do not have the metric of the search."""
    told = [("network", network.name, network.traits()) for network in kind.networks if "network" in axes]
    told += [("loss", value, {"loss": value}) for value in (axes["loss"].values if "loss" in axes else ())]
    legal_of = {(name, value): find_metrics(kind, **traits) for name, value, traits in told}
    for (name, value), legal in legal_of.items():
        if find.metric in METRICS and find.metric not in legal:
            all_have = [metric for metric in legal if all(metric in of_others for of_others in legal_of.values())]
            text = f"networks with {name} = {show(value)} have none; those of this block have {listed(all_have)}"
            report.at(item, f"find: metric = {show(find.metric)}: {text}")


def _zip(
    item: Item | None, axes: Mapping[str, Axis], legal: Iterable[str], find: Find | None, is_split: bool, ctx: Context
) -> list[tuple[str, ...]]:
    """Groups of keys that move together. A key that the command line gives leaves its group, unless all keys of the group do."""
    if item is None or item.value is None:
        return []
    groups: list[tuple[str, ...]] = []
    seen: set[str] = set()
    if not isinstance(item.value, list) or not all(isinstance(group.value, list) for group in item.value):
        ctx.report.at(item, f"zip = {show(item.value)}: must be a list of groups of keys, such as zip: [[L, d]]")
        return []
    for group in item.value:
        names: list[str] = []
        if is_pair(group):
            continue
        for part in group.value:
            name = part.value
            if not isinstance(name, str) or name not in legal or name == "task":
                choices = [key for key in legal if key != "task"]
                ctx.report.at(part, f"zip names {show(part.value)}{meant(name, choices) or ';'} legal: {listed(choices)}")
            elif is_split and name in PARTS:
                ctx.report.at(part, f"zip names {name}, whose values have different keys; write a block for each")
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
    """Groups of axes, in the order of the block. A group of zipped axes stands in the place of the first of them."""
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
    for part in item.items:
        try:
            conditions.append((part, parse_condition(part.value, list(legal))))
        except ConditionError as error:
            report.at(part, f"exclude: {show(part.value)} {error}")
    return conditions


def _check_steps(
    axes: Mapping[str, Axis], zipped: list[tuple[str, ...]], given: Mapping[str, Item], block: Item, ctx: Context
) -> None:
    """Report each combination of the block in which `steps` is not a multiple of `eval_every`."""
    if not {"steps", "eval_every"} <= axes.keys():  # a training of a single step has neither key
        return
    steps, every = axes["steps"], axes["eval_every"]
    if steps.count * every.count > ctx.limit:
        return
    move_together = any({"steps", "eval_every"} <= set(names) for names in zipped)
    pairs = zip(steps.values, every.values, strict=False) if move_together else itertools.product(steps.values, every.values)
    wrong = [(s, e) for s, e in dict.fromkeys(pairs) if s % e]
    for s, e in wrong[:SHOWN_PROBLEMS]:
        near = listed(map(str, [s - s % e] * (s > e) + [s - s % e + e]))
        told = f"eval_every = {e}" + ("" if "eval_every" in given else ", its default")
        place = given.get("steps", given.get("eval_every", given.get("eval_at", block)))
        ctx.report.at(place, f"steps = {s} is not a multiple of {told}; the nearest that are: {near}")
