"""The parts that blocks of a grid may name: those of the package, and those of a user's own files."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.grid.own.files import KINDS, Own, UserParts, register_user_file
from orchestrator.grid.own.source import UserFile, UserFileError, line_at, line_of
from orchestrator.grid.syntax.files import read_text
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.columns import Kind
from trainables.metrics import Requested
from trainables.networks import Network
from trainables.parts import declared
from trainables.tasks import Task
from trainables.training import Training


class _Said(NamedTuple):
    kind: Kind
    owner: str


class ColumnKinds:
    """The kinds of all keys and metrics that a grid's parts declare: this package's first, then those of its files."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        for part in (part for kind in KINDS.values() for part in kind.of_package()):
            if isinstance(part, Requested):
                self._said.setdefault(part.name.lower(), _Said(part.metric.kind, f"metric {part.name} of this package"))
                continue
            for name, key in declared(part).items():
                self._said.setdefault(name.lower(), _Said(key.kind, f"{part.role} {part.name} of this package"))

    def add(self, found: UserParts) -> None:
        """Note the keys and metrics of a file's parts; UserFileError if a name is known already, with another kind."""
        for part in found.classes:
            for name, key in declared(part).items():
                if name in part.locations:
                    continue
                if why := self._refusal(name, _Said(key.kind, f"{part.role} {part.name}")):
                    raise UserFileError(f"{part.role} {part.__name__}, field {name}: {why}", line_of(found.file, part, name))
        for asked in found.metrics:
            if why := self._refusal(asked.name, _Said(asked.metric.kind, f"metric {asked.name}")):
                raise UserFileError(f"metric {asked.name}: {why}", line_at(found.file, rf"def {asked.name}\b"))

    def _refusal(self, name: str, said: _Said) -> str:
        """Why the results cannot hold both columns; empty if they can. Names of columns do not differ by case."""
        earlier = self._said.setdefault(name.lower(), said)
        if earlier.kind == said.kind:
            return ""
        kinds = f"it is {_WORDS[said.kind]} here and {_WORDS[earlier.kind]} in {earlier.owner}"
        return f"{kinds}, and one column of the results holds both; name it otherwise"


class OwnParts(NamedTuple):
    """A user's own files, and the parts that blocks may name: those of the package and those of the files."""

    files: tuple[UserFile, ...]
    tasks: dict[str, type[Task]]
    networks: list[type[Network]]
    trainings: dict[str, type[Training]]
    metrics: dict[str, Requested]
    all_known: bool
    """Whether all files were good."""


def own_parts(top: Mapping[str, Item], folder: Path, report: Report) -> OwnParts:
    """The parts of the files that a grid lists under the keys KINDS; `folder` is where their relative paths start."""
    files: dict[UserFile, None] = {}
    own: dict[str, dict[Own, Item]] = {key: {} for key in KINDS}
    columns, are_good = ColumnKinds(), True
    for key in KINDS:
        item = top.get(key)
        if item is None or item.value is None:
            continue
        for part in item.items:
            found = _user_file(key, part, folder, columns, report)
            if found is None:
                are_good = False
                continue
            for kind, parts in own.items():
                for defined in found.of(kind):
                    if any(_have_one_name(defined, other) for other in parts if other is not defined):
                        told = f"defines {defined.name}, which another of these files defines too"
                        report.at(part, f"{key}: {show(part.value)} {told}")
                    parts[defined] = part
            files[found.file] = None
    every = {key: [*kind.of_package(), *own[key]] for key, kind in KINDS.items()}
    tasks, networks, trainings, metrics = every.values()
    # Beside a bad file nothing is said of default parts: they may be in it.
    for task in _without_default_parts(own["tasks"], networks, trainings, report if are_good else Report()):
        tasks.remove(task)
        are_good = False
    return OwnParts(tuple(files), _by_name(tasks), networks, _by_name(trainings), _by_name(metrics), are_good)


def _by_name(parts: Iterable[Any]) -> dict[str, Any]:
    return {part.name: part for part in parts}


def _have_one_name(part: Own, other: Own) -> bool:
    """True if they have one name. Those of metrics are names of columns, which do not differ by case."""
    return part.name == other.name or (isinstance(part, Requested) and part.name.lower() == other.name.lower())


def _without_default_parts(
    tasks: Mapping[Any, Item], networks: Iterable[type[Network]], trainings: Iterable[type[Training]], report: Report
) -> list[Own]:
    """Report tasks of a user whose default training does not exist, or cannot train the task's default network. Returns those
    without a training."""
    wrong = []
    for task, part in tasks.items():
        name, of = task.default_of("network"), task.default_of("training")
        training = _by_name(trainings).get(of)
        if training is None:
            wrong.append(task)
            legal = sorted(one.name for one in trainings)
            told = f"has the default training {show(of)}{nearest(of, legal) or ';'} legal: {listed(legal)}"
        else:
            legal = [network.name for network in networks if network.family == training.family]
            told = f"has the default network {show(name)}{nearest(name, legal) or ';'} {of} trains {listed(legal)}"
        if training is None or name not in legal:
            report.at(part, f"tasks: {show(part.value)}: task {task.name} {told}")
    return wrong


def _user_file(key: str, part: Item, folder: Path, kinds: ColumnKinds, report: Report) -> UserParts | None:
    """The parts in the file that an item of `tasks:`, `networks:`, ... names; None, with a report, for a bad file."""
    if not isinstance(part.value, str) or not part.value:
        report.at(part, f"{key}: {show(part.value)}: must be the path of a Python file, such as {key}: [{KINDS[key].example}]")
        return None
    path = folder / part.value
    read = Report()
    source = read_text(path, replace(part, where=str(path), line=None), read)
    if source is None:
        report.at(part, f"{key}: {listed(map(str, read.problems))}")
        return None
    try:
        found = register_user_file(UserFile(str(path), source), wanted=key)
        kinds.add(found)
        return found
    except UserFileError as error:
        raised = None if isinstance(error.__cause__, SyntaxError) else error.__cause__  # the message says all of a SyntaxError
        report.at(Item(None, str(path), error.line), f"{error} (a {key[:-1]} file of {part.where}:{part.line})", raised)
        return None


_WORDS = {"whole": "a whole number", "number": "a number", "single": "a number", "truth": "true or false", "text": "text"}
