"""The reader of all YAML. It keeps the line of every value, reads numbers such as `1e-3` by YAML 1.2, refuses duplicate keys."""

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sweepkit.console.words import show

MAX_NUMBER_LENGTH = 100
"""Longer numbers stay text: no file needs them, and Python is slow to read very long ones."""
MAX_FILE_MB = 1
"""Largest size of a file that people write: a grid, a file of their own parts, a cluster file, claims."""
MAX_VALUES = 100_000
"""Most values of a file once its aliases are written out. The longest file of claims has some 10,000."""


class Mistake(NamedTuple):
    """Something that is wrong with a file as YAML, and its line if that is known."""

    line: int | None
    message: str


class NotYamlError(ValueError):
    """Everything that is wrong with a file as YAML, each with the file and the line."""


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


class _QuickLoader(getattr(yaml, "CSafeLoader", _Loader)):  # type: ignore[misc]
    """`_Loader` in C, where PyYAML has it. It has words of its own for mistakes, and deep nesting overflows its stack."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+(_[0-9]+)*|0x[0-9a-fA-F]+|0o[0-7]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)


def read_yaml(path: Path, quick: bool = False, versions_agree: bool = False) -> Any:
    """The values of a YAML file, without their lines. NotYamlError names everything that is wrong with the file; OSError if it
    cannot be read.

    quick: read by a library in C, for long files of this project's own.
    versions_agree: refuse what YAML 1.1 and 1.2 read differently, in a file that another program reads, too.
    """
    with path.open("rb") as file:
        data = file.read(MAX_FILE_MB * 2**20 + 1)
    if len(data) > MAX_FILE_MB * 2**20:
        raise NotYamlError(f"{path}: is larger than {MAX_FILE_MB} MB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotYamlError(f"{path}:{line}: not a text file in UTF-8") from None
    item, mistakes = parse_yaml(text, str(path), quick=quick, versions_agree=versions_agree)
    if mistakes:
        raise NotYamlError("\n".join(f"{path}{f':{line}' if line else ''}: {message}" for line, message in mistakes))
    if item is None:
        return None
    if _n_values(item) > MAX_VALUES:
        raise NotYamlError(f"{path}: its aliases (*name) stand for over {MAX_VALUES:,} values")
    return _plain(item)


def _n_values(item: Item) -> int:
    """Number of values with aliases written out; each item is counted once, so that aliases of aliases cost nothing."""
    counts: dict[Item, int] = {}

    def count(item: Item) -> int:
        if item not in counts:
            value = item.value
            counts[item] = 1 + sum(
                map(count, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
            )
        return counts[item]

    return count(item)


def _plain(item: Item) -> Any:
    if isinstance(item.value, dict):
        return {key: _plain(inner) for key, inner in item.value.items()}
    return [_plain(inner) for inner in item.value] if isinstance(item.value, list) else item.value


def written(value: Any) -> str:
    """Plain values as a YAML document, keys in their order. Values of other types are written as text."""
    return yaml.safe_dump(json.loads(json.dumps(value, default=str)), sort_keys=False, allow_unicode=True)


def parse_yaml(
    text: str, where: str, lines: bool = True, *, quick: bool = False, versions_agree: bool = False
) -> tuple[Item | None, list[Mistake]]:
    """The document as an item (None if it is empty or cannot be read), and what is wrong with it as YAML. `lines`: the text has
    lines that a person can look up; an axis on the command line has none."""
    try:
        root = yaml.compose(text, Loader=_QuickLoader if quick else _Loader)
        reader = _Reader(where, lines, versions_agree)
        return (reader.item(root) if root is not None else None), reader.mistakes
    except yaml.MarkedYAMLError as error:
        if quick:
            return parse_yaml(text, where, lines, versions_agree=versions_agree)
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        if "'<stream end>'" in reason and error.context_mark:
            reason = f"the file ends, and what opens in line {error.context_mark.line + 1} is not closed"
        return None, [Mistake(mark.line + 1 if mark else None, f"not YAML: {reason}")]
    except yaml.reader.ReaderError as error:
        if quick:
            return parse_yaml(text, where, lines, versions_agree=versions_agree)
        line = text.count("\n", 0, error.position) + 1
        return None, [Mistake(line, f"not a text file: it holds the character {chr(error.character)!a}")]
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return None, [Mistake(None, f"not YAML: {error}")]
    except RecursionError:
        return None, [Mistake(None, "lists or mappings nested hundreds deep")]


class _Reader:
    """Turns PyYAML's nodes into items, each node once, so that aliases cost nothing."""

    def __init__(self, where: str, lines: bool, versions_agree: bool) -> None:
        self.where, self.lines, self.versions_agree = where, lines, versions_agree
        self.mistakes: list[Mistake] = []
        self._done: dict[yaml.Node, Item] = {}
        self._open: set[yaml.Node] = set()

    def item(self, node: yaml.Node) -> Item:
        if node in self._done:
            return self._done[node]
        if node in self._open:
            self._mistake(node, "an alias (*name) stands inside the very thing it names")
            return self._item(node, None)
        self._open.add(node)
        self._done[node] = item = self._item(node, self._value(node))
        self._open.remove(node)
        return item

    def _item(self, node: yaml.Node, value: Any) -> Item:
        return Item(value, self.where, self._line(node))

    def _mistake(self, node: yaml.Node, message: str) -> None:
        self.mistakes.append(Mistake(self._line(node), message))

    def _line(self, node: yaml.Node) -> int | None:
        return node.start_mark.line + 1 if self.lines else None

    def _value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self.item(child) for child in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        try:
            value = _scalar(node.tag.rpartition(":")[2], node.value)
            if self.versions_agree and not getattr(node, "style", None) and repr(other := _in_1_1(node.value)) != repr(value):
                said = f"some programs read {node.value} as {other!a}, others as {value!a}"
                self._mistake(node, f"{said}: write what is meant, text in quotation marks")
            return value
        except ValueError:
            self._mistake(node, f"cannot read {show(node.value)} as {node.tag!a}; leave the tag out")
            return None

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Item]:
        own: dict[str, Item] = {}
        merged: dict[str, Item] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._mistake(key, "a key must be a word, not a list or a mapping")
                continue
            if self.versions_agree and not key.tag.endswith(":merge"):
                self._value(key)  # programs may differ in it as they may in a value
            item = replace(self.item(value), key_line=self._line(key))
            if key.tag.endswith(":merge"):
                for source in item.items:
                    if isinstance(source.value, dict):
                        merged = source.value | merged
                    else:
                        self._mistake(value, "`<<` takes a mapping, or a list of mappings")
            elif key.value in own:
                first = own[key.value].key_line
                self._mistake(key, f"key {show(key.value)} is given twice (first in line {first}); keep one")
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


def _in_1_1(text: str) -> Any:
    """The value of a scalar without quotation marks in YAML 1.1, where `yes` is true and `0600` is 384."""
    tag = yaml.resolver.Resolver().resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    try:
        return yaml.constructor.SafeConstructor().construct_object(yaml.ScalarNode(tag, text))
    except (yaml.YAMLError, ValueError):  # it is read by nobody: a date such as 2026-02-31
        return None
