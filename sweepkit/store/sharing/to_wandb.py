"""Weights & Biases: a project per sweep unless one is named, and in it a group per sweep.

A run's id follows from its identity, content and sweep, so that no export, nor `wandb sync`, can make it twice. Offline, a run is
written aside and its folder renamed when it is whole. Online, a run that was cut off is taken up again under its id.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import wandb

from sweepkit.console.commands import joined
from sweepkit.console.words import in_a_line
from sweepkit.console.writing import make_folder
from sweepkit.store.files import UNFINISHED, ResultsError, temporary
from sweepkit.store.sharing.destination import Broken
from sweepkit.store.sharing.runs import Run, digest

_FOLDER = "offline-run-"
_QUIET: dict[str, Any] = {
    "silent": True, "console": "off", "disable_git": True, "disable_code": True, "x_disable_stats": True,
    "x_disable_machine_info": True, "x_save_requirements": False,
}  # fmt: skip
"""Settings of every run: the machine that exports is not the one that trained, so nothing is recorded of it."""


def opened(
    project: str | None = None, entity: str | None = None, offline: bool = False, out: Path | None = None
) -> "Offline | Online":
    """W&B's server, or a folder of offline runs where that or WANDB_MODE asks for it. ResultsError if it cannot be used."""
    if offline or os.environ.get("WANDB_MODE") == "offline":
        return Offline.at(project, entity, out)
    if out is not None:
        raise ResultsError("--out is the folder of offline runs: add --offline, or leave it out")
    return Online.at(project, entity)


def run_id(sweep: str, run: Run) -> str:
    """The id of a run: its identity, its content and a digest of its sweep, at most 40 characters."""
    return f"{run.identity}-{run.content}-{digest(sweep)[:6]}"


def _read(name: str, sweep: str) -> tuple[str, str] | None:
    """Identity and content from an id; None if it is of another sweep, or not ours."""
    identity, content, of = [*name.rsplit("-", 2), "", ""][:3]
    return (identity, content) if of == digest(sweep)[:6] else None


def _started(sweep: str, run: Run, project: str | None, entity: str | None, **how: Any) -> Any:
    """A new run of W&B with everything but its numbers."""
    config = {**run.tags, **run.params}
    return wandb.init(
        project=project or sweep, entity=entity, group=sweep, id=run_id(sweep, run), name=run.name, config=config,
        tags=[sweep, run.tags["per"], run.tags["status"][:64]], reinit="create_new", **how,
    )  # fmt: skip


def _told(made: Any, run: Run, first: int = 0) -> None:
    """Tell the run its numbers, from step `first` on, and end it."""
    by_step: dict[int, dict[str, float]] = {}
    for name, curve in run.curves.items():
        for step, value in curve.items():
            by_step.setdefault(step, {})[name] = value
    for step, values in sorted(by_step.items()):
        if step >= first:
            made.log(values, step=step)
    made.summary.update(dict(run.metrics))
    made.finish()


@dataclass
class Offline:
    """A folder with runs as `wandb sync` sends them."""

    folder: Path
    project: str | None
    entity: str | None
    _folders: dict[tuple[str, str], list[Path]] = field(default_factory=dict)
    """The folders of each run that is there, by sweep and identity."""

    at_once = 1

    @classmethod
    def at(cls, project: str | None, entity: str | None, out: Path | None) -> "Offline":
        """The folder `wandb` in this one, made if need be. ResultsError if it cannot be written to."""
        folder = Path(out or os.environ.get("WANDB_DIR") or ".").absolute() / "wandb"
        try:
            make_folder(folder)
            probe = folder / temporary("probe")
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ResultsError(f"cannot write to {folder}: {error.strerror}") from None
        return cls(folder, project, entity)

    @property
    def place(self) -> str:
        return str(self.folder)

    @property
    def look(self) -> str:
        return f"{joined(['wandb', 'sync', str(self.folder)])}/{_FOLDER}*"

    def complete(self, sweep: str) -> Mapping[str, str]:
        there: dict[str, str] = {}
        for path in sorted(self.folder.iterdir()):
            if path.name.endswith(UNFINISHED):
                shutil.rmtree(path, ignore_errors=True)
            elif path.name.startswith(_FOLDER) and (known := _read(path.name.split("-", 3)[-1], sweep)):
                there[known[0]] = known[1]
                self._folders.setdefault((sweep, known[0]), []).append(path)
        return there

    def write(self, sweep: str, run: Run) -> None:
        aside = self.folder / temporary(run.identity)
        try:
            aside.mkdir()
            how = {"mode": "offline", "dir": str(aside), "settings": wandb.Settings(**_QUIET)}
            _told(_started(sweep, run, self.project, self.entity, **how), run)
            (made,) = aside.glob(f"wandb/{_FOLDER}*")
            stamp = datetime.fromtimestamp(run.ended, UTC).strftime("%Y%m%d_%H%M%S")
            for old in self._folders.pop((sweep, run.identity), []):
                shutil.rmtree(old)  # before its successor: a kill in between leaves none, not two
            final = self.folder / f"{_FOLDER}{stamp}-{run_id(sweep, run)}"
            os.replace(made, final)
            self._folders[sweep, run.identity] = [final]
        except OSError as error:
            raise ResultsError(f"cannot write {self.folder}: {error.strerror}") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)


@dataclass
class Online:
    """W&B's server, or one's own."""

    api: Any
    project: str | None
    entity: str | None
    _old: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """Runs on the server, whole or not, by sweep and identity."""

    at_once = 1

    @classmethod
    def at(cls, project: str | None, entity: str | None) -> "Online":
        """The server for which this machine has a key. ResultsError if it has none, or if the server does not answer."""
        try:
            api = wandb.Api()
            found = cls(api, project, entity or api.default_entity)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing can be written
            raise ResultsError(
                f"W&B cannot be used: {in_a_line(error)}. Log in with `wandb login`, or write runs into a folder with --offline"
            ) from None
        return found

    @property
    def place(self) -> str:
        return f"W&B, {self.entity}/{self.project or '(a project per sweep)'}"

    look = ""

    def complete(self, sweep: str) -> Mapping[str, str]:
        there: dict[str, str] = {}
        with _answers(self.place):
            for run in self._runs(sweep):
                if known := _read(run.id, sweep):
                    self._old.setdefault((sweep, known[0]), []).append(run)
                    if run.state == "finished":
                        there[known[0]] = known[1]
        return there

    def _runs(self, sweep: str) -> Iterator[Any]:
        try:
            yield from self.api.runs(f"{self.entity}/{self.project or sweep}", filters={"group": sweep}, per_page=500)
        except ValueError as error:  # W&B makes a project with its first run
            if "Could not find project" not in str(error):
                raise

    def write(self, sweep: str, run: Run) -> None:
        with _answers(self.place):
            for old in self._old.pop((sweep, run.identity), []):
                if old.id != run_id(sweep, run):
                    old.delete()
            settings = wandb.Settings(**_QUIET)
            made = _started(sweep, run, self.project, self.entity, resume="allow", settings=settings)
            _told(made, run, made.step if made.resumed else 0)


@contextmanager
def _answers(place: str) -> Iterator[None]:
    """Turn W&B's errors into Broken."""
    try:
        yield
    except (wandb.Error, ValueError, OSError) as error:
        raise Broken(f"{place}: {in_a_line(error)}") from error
