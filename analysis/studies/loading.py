"""Studies loaded from their folders: the project's, those of installed packages, and those that a person names."""

import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import ValidationError

from analysis.studies.declared import Declared
from sweepkit import studies as known
from sweepkit.console.cache import digest
from sweepkit.console.words import listed, nearest, pydantic_reason
from sweepkit.studies import FILE, OURS, StudyError, add, folders, forget, leave_out

S = TypeVar("S", Declared, Path)
T = TypeVar("T")
STUDY_FILE = FILE.removesuffix(".py")


def load(name_or_folder: str | Path) -> Declared:
    """The study with this name, or in this folder. StudyError in words for a mistake."""
    text, there = str(name_or_folder), folders()
    if text in there:
        return _declared(there[text])
    if len(Path(text).parts) == 1 and not Path(text).is_dir():
        raise StudyError(f"no study {text!r}{nearest(text, there) or ';'} there are {listed(there)}, and any folder with {FILE}")
    name = add(text)
    return _declared(folders()[name])


def studies() -> list[Declared]:
    """All studies that are known here, in the order of lists."""
    found = [study for _, study in _whole(folders().values(), _declared)]
    return sorted(found, key=lambda study: (study.order, study.name))


def of_each(gather: Callable[[Declared], T]) -> list[tuple[Declared, T]]:
    """Each study with what `gather` finds in it. One with a mistake that no person named here is left out, and told once."""
    return _whole(studies(), gather)


def _whole(each: Iterable[S], gather: Callable[[S], T]) -> list[tuple[S, T]]:
    found = []
    for one in each:
        try:
            found.append((one, gather(one)))
        except StudyError as error:
            leave_out(one.folder if isinstance(one, Declared) else one, error)
    return found


def renew() -> int:
    """Load studies anew that are no project's and whose files have changed, and say how often that was done: an app that runs for
    days shows the theory and the statements as they are now."""
    others = [folder for folder in folders().values() if folder.parent != OURS]
    now = {folder: _moment(folder) for folder in others}
    changed = [folder for folder in others if folder in _moments and _moments[folder] != now[folder]]
    _moments.update(now)
    if changed:
        for folder in others:  # one may import another
            forget(folder)
        for kept in (_declared, theory_digest, judging_digest):
            kept.cache_clear()
        _renewed.extend(changed)
    return len(_renewed)


_moments: dict[Path, Any] = {}
_renewed: list[Path] = []


def _moment(folder: Path) -> Any:
    """A value that differs once a file of a study does."""
    files = [file for kind in ("*.py", "*.yaml", "*.md") for file in folder.rglob(kind)]
    return sorted((str(file), file.stat().st_mtime_ns) for file in files)


@cache
def _declared(folder: Path) -> Declared:
    file = folder / FILE
    study = getattr(part(folder, STUDY_FILE), "STUDY", None)
    if not isinstance(study, Declared):
        raise StudyError(f"{file}: it must hold STUDY = Study(title=...), by `from analysis.study import Study`")
    there = [grid.stem for grid in sorted(folder.glob("grids/*.yaml"))]
    for grid in study.grids:
        if grid not in there:
            raise StudyError(
                f"{file}: grids: no {grid!r}{nearest(grid, there) or ';'} in grids/ there are {listed(there) or 'none'}"
            )
    for name in study.needs:
        if name not in folders():
            raise StudyError(f"{file}: needs: no study {name!r}{nearest(name, folders()) or ';'} there are {listed(folders())}")
    return replace(study, folder=folder)


def part(folder: Path, name: str) -> ModuleType | None:
    """The module of this name in a study's folder; None if there is none. StudyError for an error in it, with its line."""
    if not ((folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()):
        return None
    if name != STUDY_FILE:  # before an import: an edit made while the process runs must not name what the old code computes
        theory_digest(folder)
    try:
        return import_module(f"{known.__name__}.{folder.name}.{name}")
    except Exception as error:
        raise StudyError(_told(folder, error)) from error


def _told(folder: Path, error: Exception) -> str:
    """The error in words, at the last line of the study that it passed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: not Python: {error.msg}"
    passed = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(folder)]
    where = f"{passed[-1].filename}:{passed[-1].lineno}" if passed else str(folder)
    if isinstance(error, StudyError) and str(folder) in str(error):  # of a file that this one imports
        return str(error)
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, StudyError | ValidationError):
        said = str(error) if isinstance(error, StudyError) else pydantic_reason(error)
    return f"{where}: {said}"


@cache
def theory_digest(folder: Path) -> str:
    """Names the theory of the study in this folder and of those that it needs: `theory.py`, or the files of the folder `theory`.
    Whatever is kept of its values belongs to this text; other files of the study may change without loss."""
    needed = [theory_digest(folders()[name]) for name in _declared(folder).needs]
    return digest([*folder.glob("theory.py"), *folder.glob("theory/**/*.py")], folder.name, *needed)


@cache
def judging_digest(folder: Path) -> str:
    """Names the code that verdicts of the study in this folder depend on, besides the core's: its modules but for figures and
    tests, and those of the studies that it needs."""
    needed = [judging_digest(folders()[name]) for name in _declared(folder).needs]
    aside = {FILE, "figures.py", "figures", "pages", "grids", "tests"}
    files = [file for file in folder.rglob("*.py") if not aside.intersection(file.relative_to(folder).parts)]
    return digest([file for file in files if not file.name.startswith("test_")], folder.name, *needed)


def study_of(module: str) -> Path | None:
    """The folder of the study that a module belongs to; None for a module of the core."""
    if not module.startswith(f"{known.__name__}."):
        return None
    return folders().get(module.removeprefix(f"{known.__name__}.").partition(".")[0])
