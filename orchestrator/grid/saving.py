"""`save:` of a block: the lists and the metrics on request that the results keep of each network, and why a network lacks one."""

from collections.abc import Iterable, Sequence

from orchestrator.grid.context import Context
from orchestrator.grid.keys import Kind, axis_keys
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.columns import Metric
from sweepkit.declarations.metrics import LISTS
from trainables.metrics import Group, metric_groups, requested_metric


def lacking(asked: str, metrics: Iterable[Metric], kind: Kind) -> str:
    """Why some networks of this kind lack some of the metrics for which `asked` stands; empty if all have all of them."""
    every = list(metrics)
    for network in kind.networks:
        traits = kind.traits() | network.traits()
        without = [metric for metric in every if not metric.had_by(traits)]
        missing = {trait for metric in without for trait, legal in metric.of[0] if traits.get(trait) not in (None, *legal)}
        if "sampled" in missing:
            return f"{asked} is measured on networks that learn by gradient descent, not by {kind.training.name}"
        if "answers" in missing:
            return f"{asked} is of one answer an example, and task {kind.task.name} asks each token; leave it out"
        if "outputs" in missing:
            return f"{asked} is of several outputs, and task {kind.task.name} has one; leave it out, or take a task of classes"
        if "features" in missing:
            needless = [metric.name for metric in every if metric not in without]
            rest = f"save {listed(needless)} alone" if needless else f"leave out {asked}"
            own = "add a method `features` that returns its last hidden layer, or " if network.file_digest else ""
            return f"network {network.name} has no `features`, which {asked} needs: {own}{rest}"
        if without:
            return f"{asked} is not measured on network {network.name} under {kind.training.name} with task {kind.task.name}"
    return ""


DEFAULT_SAVE = frozenset({"curves"})


def check_save(item: Item | None, kind: Kind, kinds: Sequence[Kind], ctx: Context) -> frozenset[str]:
    """The extras to save of networks of this kind; `kinds` are all kinds of the block. Reports names that cannot be saved."""
    if item is None:
        return DEFAULT_SAVE
    parts = item.items
    saveable = (*LISTS, *metric_groups(), *ctx.metrics)
    for part in parts:
        if not isinstance(part.value, str) or part.value not in saveable:
            if ctx.all_files_known or not isinstance(part.value, str):
                hint = nearest(part.value, saveable) or ";"
                ctx.report.at(part, f"save: unknown {show(part.value)}{hint} legal: {listed(saveable)}, or []")
            continue
        if reason := _not_saved(part.value, kind, ctx):
            others_have = any(not _not_saved(part.value, other, ctx) for other in kinds)
            two = "; others of this block have them: write two blocks, each with its own save" * others_have
            ctx.report.at(part, f"save: {reason}{two}")
    asked = [part.value for part in parts if isinstance(part.value, str) and part.value in saveable]
    return frozenset(name for one in asked for name in _names(one, kind, ctx))


def _names(asked: str, kind: Kind, ctx: Context) -> tuple[str, ...]:
    """The members of a group that networks of this kind have, all if they have none; or what is asked for by its own name. A
    metric along training brings the curves: without them its values would have no steps."""
    group = metric_groups().get(asked)
    names = (_had(group, kind) or group.members) if group else (asked,)
    is_along = any(name in ctx.metrics and ctx.metrics[name].metric.per == "evaluation" for name in names)
    return ("curves", *names) if is_along else names


def _had(group: Group, kind: Kind) -> tuple[str, ...]:
    """The metrics of a group that networks of this kind have."""
    traits = kind.traits()
    return tuple(name for name in group.members if requested_metric(name).metric.had_by(traits))


def _not_saved(asked: str, kind: Kind, ctx: Context) -> str:
    """Why networks of this kind cannot save what is asked for; empty if they can."""
    names = _names(asked, kind, ctx)
    if reason := lacking(asked, [ctx.metrics[name].metric for name in names if name in ctx.metrics], kind):
        return reason
    return next(filter(None, (_not_kept(name, kind, ctx) for name in names)), "")


def _not_kept(name: str, kind: Kind, ctx: Context) -> str:
    """Why the results cannot hold the extra of this name of networks of this kind; empty if they can."""
    without = [network for network in kind.networks if name in LISTS and name not in network.keeps]
    if without:
        groups = [name for name, group in metric_groups().items() if _had(group, kind)]
        has = listed([*without[0].keeps, *(["metrics"] if kind.training.family == "descent" else groups)])
        return f"network {without[0].name} under {kind.training.name} keeps no {name}; it saves {has}"
    if name in ctx.metrics and (same := [key for key in axis_keys(kind) if key.lower() == name.lower()]):
        return f"metric {name} would be a column of the results, and so is the key {same[0]} of {kind.task.name}; rename it"
    return ""
