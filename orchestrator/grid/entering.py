"""Values that replace axes in every block of a grid: problems say which of these values made them, and in which blocks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator.grid.keys import PARTS
from orchestrator.grid.syntax.problems import COMMAND_LINE, Problem
from sweepkit.console.words import listed, show
from sweepkit.console.yaml_lines import Item

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
