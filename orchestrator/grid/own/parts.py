"""The tasks, networks and metrics that blocks of a grid may name: those of the package, and those of a user's own files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orchestrator.grid.own.files import UserParts, register_user_file
from orchestrator.grid.own.source import UserFile, UserFileError, line_at, line_of
from orchestrator.grid.syntax.files import read_text
from orchestrator.grid.syntax.problems import Report
from sweepkit.console.words import listed, nearest, show
from sweepkit.console.yaml_lines import Item
from sweepkit.declarations.columns import Kind
from trainables.metrics import Requested, requested_metric, requested_names
from trainables.networks import Network, all_networks
from trainables.parts import Part, declared
from trainables.tasks import Task, task_class, task_names
from trainables.training import all_trainings, training_class

FILES = {"tasks": "parity.py", "networks": "own_network.py", "metrics": "own_metric.py"}
"""Keys that list files of a user's own parts, each with the name of an example."""


class _Said(NamedTuple):
    kind: Kind
    owner: str


class ColumnKinds:
    """The kinds of all keys and metrics that a grid's parts declare: this package's first, then those of its files."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        for part in (*map(task_class, task_names()), *all_networks(), *all_trainings()):
            if not part.file_digest:
                for name, key in declared(part).items():
                    self._said.setdefault(name.lower(), _Said(key.kind, f"{part.role} {part.name} of this package"))
        for asked in map(requested_metric, requested_names()):
            if not asked.metric.digest:
                self._said.setdefault(asked.name.lower(), _Said(asked.metric.kind, f"metric {asked.name} of this package"))

    def add(self, found: UserParts) -> None:
        """Note the keys and metrics of a file's parts; UserFileError if a name is known already, with another kind."""
        parts: tuple[type[Part], ...] = (*found.tasks.values(), *found.networks)
        for part in parts:
            for name, key in declared(part).items():
                if name in part.locations:
                    continue
                if why := self._refusal(name, _Said(key.kind, f"{part.role} {part.name}")):
                    raise UserFileError(f"{part.role} {part.__name__}, field {name}: {why}", line_of(found.file, part, name))
        for asked in found.metrics.values():
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
    metrics: dict[str, Requested]
    all_known: bool
    """Whether all files were good."""


def own_parts(top: Mapping[str, Item], folder: Path, report: Report) -> OwnParts:
    """The parts of the files that a grid lists under the keys FILES; `folder` is where their relative paths start."""
    tasks = {name: task_class(name) for name in task_names() if not task_class(name).file_digest}
    networks = [network for network in all_networks() if not network.file_digest]
    every = {name: requested_metric(name) for name in requested_names()}
    metrics = {name: asked for name, asked in every.items() if not asked.metric.digest}
    files: dict[UserFile, None] = {}
    own_tasks: dict[type[Task], Item] = {}
    kinds, are_good = ColumnKinds(), True
    for key in FILES:
        item = top.get(key)
        if item is None or item.value is None:
            continue
        for part in item.items:
            found = _user_file(key, part, folder, kinds, report)
            if found is None:
                are_good = False
                continue
            for name, kind in found.tasks.items():
                if tasks.setdefault(name, kind) is not kind:
                    report.at(part, f"{key}: {show(part.value)} defines {name}, which another of these files defines too")
            for network in found.networks:
                if any(n.name == network.name and n is not network for n in networks):
                    report.at(part, f"{key}: {show(part.value)} defines {network.name}, which another of these files defines too")
                networks.append(network)
            for name, asked in found.metrics.items():
                alike = [other for other in metrics if other.lower() == name.lower()]  # names of columns do not differ by case
                if any(metrics[other] is not asked for other in alike):
                    report.at(part, f"{key}: {show(part.value)} defines {name}, which another of these files defines too")
                metrics[name] = asked
            own_tasks |= dict.fromkeys(found.tasks.values(), part)
            files[found.file] = None
    if are_good:
        _check_default_networks(own_tasks, networks, report)
    return OwnParts(tuple(files), tasks, list(dict.fromkeys(networks)), metrics, are_good)


def _check_default_networks(tasks: dict[type[Task], Item], networks: list[type[Network]], report: Report) -> None:
    """Report tasks of a user whose default network does not exist, or cannot be trained by the task's default training."""
    for task, part in tasks.items():
        name, training = task.default_of("network"), task.default_of("training")
        legal = [network.name for network in networks if network.family == training_class(training).family]
        if name not in legal:
            hint = nearest(name, legal) or ";"
            told = f"task {task.name} has the default network {show(name)}{hint} {training} trains {listed(legal)}"
            report.at(part, f"tasks: {show(part.value)}: {told}")


def _user_file(key: str, part: Item, folder: Path, kinds: ColumnKinds, report: Report) -> UserParts | None:
    """The parts in the file that an item of `tasks:`, `networks:` or `metrics:` names; None, with a report, for a bad file."""
    if not isinstance(part.value, str) or not part.value:
        report.at(part, f"{key}: {show(part.value)}: must be the path of a Python file, such as {key}: [{FILES[key]}]")
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
