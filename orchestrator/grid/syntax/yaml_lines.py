"""A YAML reader that keeps the line of every value, reads numbers such as `1e-3` by YAML 1.2, and refuses duplicate keys."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import yaml

from console.words import show
from orchestrator.grid.syntax.problems import Problem

MAX_NUMBER_LENGTH = 100
"""Longer numbers stay text: no grid needs them, and Python is slow to read very long ones."""


@dataclass(frozen=True, eq=False)
class Item:
    """A YAML value: a scalar, a list of items, or a mapping from text to items; with its own line and the line of its key."""

    value: Any
    where: str
    line: int | None = None
    key_line: int | None = None

    @property
    def items(self) -> list["Item"]:
        """The items of a list; of any other value the item alone."""
        return self.value if isinstance(self.value, list) else [self]


class _Loader(yaml.SafeLoader):
    """Loader that resolves plain scalars as YAML 1.2 does: `no`, `1:30` and dates are text, and `1e-3` is a number."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - it is PyYAML's own attribute


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+(_[0-9]+)*|0x[0-9a-fA-F]+|0o[0-7]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)


def parse_yaml(text: str, where: str, lines: bool = True) -> tuple[Item | None, list[Problem]]:
    """The document as an item (None if it is empty or cannot be read), and its problems as YAML. `lines`: the text has lines that
    a person can look up; an axis on the command line has none."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        reader = _Reader(where, lines)
        return (reader.item(root) if root is not None else None), reader.problems
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        if "'<stream end>'" in reason and error.context_mark:
            reason = f"the file ends, and what opens in line {error.context_mark.line + 1} is not closed"
        return None, [Problem(where, mark.line + 1 if mark else None, f"not YAML: {reason}")]
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        return None, [Problem(where, line, f"not a text file: it holds the character {chr(error.character)!a}")]
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return None, [Problem(where, None, f"not YAML: {error}")]
    except RecursionError:
        return None, [Problem(where, None, "not a grid: lists or mappings nested hundreds deep")]


class _Reader:
    """Turns PyYAML's nodes into items, each node once, so that aliases cost nothing."""

    def __init__(self, where: str, lines: bool) -> None:
        self.where, self.lines = where, lines
        self.problems: list[Problem] = []
        self._done: dict[yaml.Node, Item] = {}
        self._open: set[yaml.Node] = set()

    def item(self, node: yaml.Node) -> Item:
        if node in self._done:
            return self._done[node]
        if node in self._open:
            self._problem(node, "an alias (*name) stands inside the very thing it names")
            return self._item(node, None)
        self._open.add(node)
        self._done[node] = item = self._item(node, self._value(node))
        self._open.remove(node)
        return item

    def _item(self, node: yaml.Node, value: Any) -> Item:
        return Item(value, self.where, self._line(node))

    def _problem(self, node: yaml.Node, message: str) -> None:
        self.problems.append(Problem(self.where, self._line(node), message))

    def _line(self, node: yaml.Node) -> int | None:
        return node.start_mark.line + 1 if self.lines else None

    def _value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self.item(child) for child in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        try:
            return _scalar(node.tag.rpartition(":")[2], node.value)
        except ValueError:
            self._problem(node, f"cannot read {show(node.value)} as {node.tag!a}; leave the tag out")
            return None

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Item]:
        own: dict[str, Item] = {}
        merged: dict[str, Item] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._problem(key, "a key must be a word, not a list or a mapping")
                continue
            item = replace(self.item(value), key_line=self._line(key))
            if key.tag.endswith(":merge"):
                for source in item.items:
                    if isinstance(source.value, dict):
                        merged = source.value | merged
                    else:
                        self._problem(value, "`<<` takes a mapping, or a list of mappings")
            elif key.value in own:
                first = own[key.value].key_line
                self._problem(key, f"key {show(key.value)} is given twice (first in line {first}); keep one")
            else:
                own[key.value] = item
        return merged | own


def _scalar(tag: str, text: str) -> Any:
    """The value of a scalar in YAML's core schema; ValueError if the text does not fit its tag, or for tags of other schemas."""
    if tag in ("int", "float") and len(text) > MAX_NUMBER_LENGTH:
        return text
    match tag:
        case "str" | "merge" | "!":
            return text
        case "null":
            return None
        case "bool" if text.lower() in ("true", "false"):
            return text.lower() == "true"
        case "int":
            return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))
        case "float":
            special = {"inf": math.inf, "nan": math.nan}.get(text.lower().lstrip("+-."))
            if special is not None:
                return -special if text.startswith("-") else special
            return float(text)
    raise ValueError(tag)
