"""Hints for the author of a grid: at a key that is unknown where it stands, other tools' words for it and the parts that have it;
at values that replace axes in every block, which of them made a problem, and in which blocks."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from orchestrator.grid.context import Context
from orchestrator.grid.find import NEEDED, OPTIONAL
from orchestrator.grid.keys import EXAMPLE, PARTS, Kind, in_short
from orchestrator.grid.syntax.problems import COMMAND_LINE, Problem
from sweepkit.console.words import listed, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.keys import FIRST_NETWORK
from sweepkit.declarations.synonyms import ELSEWHERE, meant
from trainables.parts import Part


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
    every: dict[str, Iterable[type[Part]]] = {"training": ctx.trainings.values(), "network": near, "task": ctx.tasks.values()}
    for role, parts in every.items():
        if owners := _names(part for part in parts if key in part.model_fields):
            return f"; {key} is a key of {role} {owners}, not of {_names(here[role])};"
    if far := {network.family for network in ctx.networks if key in network.model_fields}:
        able = _names(training for training in ctx.trainings.values() if training.family in far)
        return f"; {key} is a key of networks under training {able}, not under {_names(here['training'])};"
    return ""


def _name(kind: Kind) -> str:
    """`same_different`, or `same_different with network gated` where its network is another than the first."""
    others = [network.name for network in kind.networks if network.name != FIRST_NETWORK]
    return f"{kind.task.name} with network {' or '.join(others)}" if others else kind.task.name


def _names(parts: Iterable[type[Part]]) -> str:
    return ", ".join(dict.fromkeys(part.name for part in parts))


Check = Callable[[Item, Mapping[str, Item]], Sequence[Problem]]
"""The problems of a block when these values replace its axes."""


def explained(found: Sequence[tuple[Item, Sequence[Problem]]], given: Mapping[str, Item], check: Check) -> list[Problem]:
    """The problems of blocks, with words about the given values that they come from.

    A problem of the grid's file comes from a given value if, without that value, its line has no problem.
    """
    if not given:
        return [problem for _, problems in found for problem in problems]
    places = {item.where for item in given.values()}
    of_values: dict[Problem, list[Item]] = {}
    of_file: list[Problem] = []
    for block, problems in found:
        for problem in problems:
            if problem.where in places:
                of_values.setdefault(problem, []).append(block)
        if any(problem.where not in places for problem in problems):
            of_file += _of_file([problem for problem in problems if problem.where not in places], block, given, check)
    return [*of_file, *(_in_blocks(problem, blocks, len(found)) for problem, blocks in of_values.items())]


def _in_blocks(problem: Problem, blocks: Sequence[Item], n_blocks: int) -> Problem:
    """The problem of a given value, with the blocks that have it if others have not."""
    if len(blocks) == n_blocks:
        return problem
    lines = listed(str(block.line) for block in blocks if block.line)
    where = f"line{'s' * (len(blocks) > 1)} {lines} of {blocks[0].where}" if lines else blocks[0].where
    return replace(problem, message=f"{problem.message} (in the block{'s' * (len(blocks) > 1)} of {where})")


def _of_file(problems: Sequence[Problem], block: Item, given: Mapping[str, Item], check: Check) -> list[Problem]:
    """Problems of the grid's file, each with the given values without which the block does not have it."""
    without_any = _lines(check(block, {}))
    without = {name: _lines(check(block, {key: item for key, item in given.items() if key != name})) for name in given}
    told = []
    for problem in problems:
        if problem.line not in without_any:
            values = [name for name, lines in without.items() if problem.line not in lines] or list(given)
            problem = replace(problem, message=f"{problem.message} ({_put(values, given)})")
        told.append(problem)
    return told


def _lines(problems: Sequence[Problem]) -> set[int | None]:
    return {problem.line for problem in problems}


def _put(names: Sequence[str], given: Mapping[str, Item]) -> str:
    """`the command line puts L = 4 into this block, as into every block that has this key`."""
    where = given[names[0]].where
    values = listed(_value(name, given[name]) for name in names)
    having = "" if {*names} <= {"task", *PARTS} else f" that has {'this key' if len(names) == 1 else 'these keys'}"
    giver = "the command line" if where == COMMAND_LINE else where
    return f"{giver} puts {values} into this block, as into every block{having}"


def _value(name: str, item: Item) -> str:
    return f"values of {name}" if isinstance(item.value, list | dict) else f"{name} = {show(item.value)}"
