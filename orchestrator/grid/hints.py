"""Hints at a key that is unknown where it stands: other tools' words for it, the parts that do have it, the nearest spelling."""

from collections.abc import Collection, Iterable, Sequence

from orchestrator.grid.context import Context
from orchestrator.grid.find import NEEDED, OPTIONAL
from orchestrator.grid.keys import EXAMPLE, Kind, in_short
from sweepkit.console.words import listed, show
from sweepkit.declarations.keys import FIRST_NETWORK
from sweepkit.declarations.synonyms import ELSEWHERE, meant
from trainables.parts import Part
from trainables.training import all_trainings


def unknown_key(key: str, legal: Collection[str], kinds: Sequence[Kind], ctx: Context, lists: bool = True) -> str:
    """The message for a key that none of these kinds of cells has. `lists`: whether it lists the legal ones."""
    names = " and ".join(dict.fromkeys(map(_name, kinds)))
    here = ELSEWHERE.get(key.lower(), key)
    of_others = "" if here in legal else _owners(here, kinds, ctx) or _owners(key, kinds, ctx)
    of_find = f"; {here} is a part of `find`, and stands there in the grid;" if here in (*NEEDED, *OPTIONAL) else ""
    hint = of_others or of_find or meant(key, legal) or ";"
    if key.rstrip().endswith(")"):
        hint = f"; it looks like the end of a call: in YAML an axis is written {EXAMPLE};"
    told = f"unknown key {show(key)}{in_short(key)}{hint}"
    return f"{told} legal keys of {names}: {listed(legal)}" if lists else told.removesuffix(";")


def _owners(key: str, kinds: Sequence[Kind], ctx: Context) -> str:
    """`; momentum is a key of training sgd, not of adam;` if other parts than those of these kinds have the key, else nothing."""
    families = {kind.training.family for kind in kinds}
    here: dict[str, Iterable[type[Part]]] = {
        "training": [k.training for k in kinds],
        "network": [network for k in kinds for network in k.networks],
        "task": [k.task for k in kinds],
    }
    near = [network for network in ctx.networks if network.family in families]
    every: dict[str, Iterable[type[Part]]] = {"training": all_trainings(), "network": near, "task": ctx.tasks.values()}
    for role, parts in every.items():
        if owners := _names(part for part in parts if key in part.model_fields):
            return f"; {key} is a key of {role} {owners}, not of {_names(here[role])};"
    if far := {network.family for network in ctx.networks if key in network.model_fields}:
        able = _names(training for training in all_trainings() if training.family in far)
        return f"; {key} is a key of networks under training {able}, not under {_names(here['training'])};"
    return ""


def _name(kind: Kind) -> str:
    """`same_different`, or `same_different with network gated` where its network is another than the first."""
    others = [network.name for network in kind.networks if network.name != FIRST_NETWORK]
    return f"{kind.task.name} with network {' or '.join(others)}" if others else kind.task.name


def _names(parts: Iterable[type[Part]]) -> str:
    return ", ".join(dict.fromkeys(part.name for part in parts))
