"""`save:` of a block: the lists and the metrics on request that the results keep of each network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console.words import listed, nearest, show
from declarations.lists import LISTS
from orchestrator.grid.keys import Kind, axis_keys
from orchestrator.grid.syntax.yaml_lines import Item
from trainables.metrics import Group, metric_groups, requested_metric

if TYPE_CHECKING:
    from orchestrator.grid.blocks import Context

DEFAULT_SAVE = frozenset({"curves"})


def check_save(item: Item | None, kind: Kind, kinds: Sequence[Kind], ctx: "Context") -> frozenset[str]:
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
        names = _names(part.value, kind, ctx)
        if reason := next(filter(None, (_not_saved(name, kind, ctx) for name in names)), ""):
            others = ((other, _names(part.value, other, ctx)) for other in kinds)
            others_have = any(not any(_not_saved(name, other, ctx) for name in names) for other, names in others)
            two = "; others of this block have them: write two blocks, each with its own save" * others_have
            ctx.report.at(part, f"save: {reason}{two}")
    asked = [part.value for part in parts if isinstance(part.value, str) and part.value in saveable]
    return frozenset(name for one in asked for name in _names(one, kind, ctx))


def _names(asked: str, kind: Kind, ctx: "Context") -> tuple[str, ...]:
    """The members of a group that networks of this kind have, all if they have none; or what is asked for by its own name. A
    metric along training brings the curves: without them its values would have no steps."""
    group = metric_groups().get(asked)
    names = (_had(group, kind) or group.members) if group else (asked,)
    is_along = any(name in ctx.metrics and ctx.metrics[name].metric.per == "evaluation" for name in names)
    return ("curves", *names) if is_along else names


def _had(group: Group, kind: Kind) -> tuple[str, ...]:
    """The metrics of a group that networks of this kind have."""
    return tuple(name for name in group.members if requested_metric(name).had_by(kind.training.family))


def _not_saved(name: str, kind: Kind, ctx: "Context") -> str:
    """Why networks of this kind cannot save the extra of this name; empty if they can."""
    lacking = [network for network in kind.networks if name in LISTS and name not in network.keeps]
    if lacking:
        groups = [name for name, group in metric_groups().items() if _had(group, kind)]
        has = listed([*lacking[0].keeps, *(["metrics"] if kind.training.family == "descent" else groups)])
        return f"network {lacking[0].name} under {kind.training.name} keeps no {name}; it saves {has}"
    if name in ctx.metrics and not ctx.metrics[name].had_by(kind.training.family):
        return f"{name} is measured on networks that learn by gradient descent, not by {kind.training.name}"
    if name in ctx.metrics and (same := [key for key in axis_keys(kind) if key.lower() == name.lower()]):
        return f"metric {name} would be a column of the results, and so is the key {same[0]} of {kind.task.name}; rename it"
    return ""
