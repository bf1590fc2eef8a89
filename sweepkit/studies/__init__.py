"""The folders of studies: those of the project, those of installed packages, and those that a person names.

A study's modules are imported from here by the name of its folder, as `sweepkit.studies.my_law.theory`, wherever the folder
lies, so that another process finds them by the same name. Nothing of a study is imported before it is asked for.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType

from sweepkit.console.commands import STUDIES
from sweepkit.console.errors import PlainError
from sweepkit.shipped import ROOT

OURS = ROOT / "studies"
"""The folder of the project's own studies."""
__path__ = [*dict.fromkeys((*__path__, str(OURS)))]
GROUP = "sweep.studies"
"""The entry points by which installed packages name their studies, as `my_law = "my_package.my_law"`."""
NAME = r"[a-z]\w*"
"""The names that a study may have."""
FILE = "study.py"
"""The file that makes a folder a study."""


class StudyError(PlainError, ValueError):
    """A mistake in a study, in words: where it is, and what is allowed."""


def folders() -> Mapping[str, Path]:
    """The folder of each study by its name, the same object until more are known. StudyError if two have one name."""
    return _folders(os.environ.get(STUDIES, ""))


@cache
def _folders(named: str) -> Mapping[str, Path]:
    found = {file.parent.name: file.parent for file in sorted(OURS.glob(f"*/{FILE}"))}
    for folder in (*_installed(), *_split(named)):
        try:
            _check(folder, found)
        except StudyError as error:
            leave_out(folder, error)
        else:
            found[folder.name] = folder
    return MappingProxyType(found)


def leave_out(folder: Path, error: StudyError) -> None:
    """Tell once what is wrong with a study that only an environment variable or an installed package names: all else goes on
    without it. Raise the error if it is of the project, or if a person named it here."""
    if folder in _NAMED or folder.parent == OURS:
        raise error
    if folder not in _LEFT_OUT:
        from sweepkit.console.terminal import complain

        complain(f"study {folder.name} is left out: {error}")
    _LEFT_OUT.setdefault(folder, str(error))  # what follows from the first mistake is none of its own


def left_out() -> list[str]:
    """The mistakes of the studies that are left out."""
    named = {*_installed(), *_split(os.environ.get(STUDIES, ""))}
    return [error for folder, error in _LEFT_OUT.items() if folder in named]


def tolerate() -> None:
    """Leave out a study with a mistake even if a person named it: an app goes on while one is edited."""
    _NAMED.clear()


_NAMED: set[Path] = set()
_LEFT_OUT: dict[Path, str] = {}


def add(folder: str | os.PathLike[str]) -> str:
    """Let this folder be known as a study, here and in processes started from now on; its name. StudyError if it is none."""
    path = Path(folder).resolve()
    _NAMED.add(path)
    known = folders()
    _check(path, known)
    if known.get(path.name) != path:
        os.environ[STUDIES] = os.pathsep.join(filter(None, (os.environ.get(STUDIES), str(path))))
        _place(path)
    elif path in _LEFT_OUT:  # whoever names it is told what is wrong with it
        forget(path)
    return path.name


def is_ours(name: str) -> bool:
    """True if a study is of the project, or if there is none, `""`."""
    return not name or folders()[name].parent == OURS


def forget(folder: Path) -> None:
    """Let the modules of a study be imported anew, and all that is known of studies be gathered anew."""
    name = f"{__name__}.{folder.name}"
    for module in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[module]
    _place(folder)
    _LEFT_OUT.pop(folder, None)
    _folders.cache_clear()


@cache
def _installed() -> tuple[Path, ...]:
    specs = [find_spec(entry.value) for entry in entry_points(group=GROUP)]
    return tuple(Path(folder).resolve() for spec in specs if spec for folder in spec.submodule_search_locations or ())


def _split(named: str) -> Iterator[Path]:
    return (Path(folder).resolve() for folder in named.split(os.pathsep) if folder)


def _check(folder: Path, known: Mapping[str, Path]) -> None:
    if not folder.is_dir():
        raise StudyError(f"no folder {folder}: name the folder of a study, or one of {', '.join(known)}")
    if not (folder / FILE).is_file():
        raise StudyError(f"{folder} is no study, as it has no {FILE}; `sweep study new {folder.name}` makes one")
    if not re.fullmatch(NAME, folder.name, re.ASCII):
        raise StudyError(f"{folder}: a study is named by its folder, in small letters, digits and _: rename {folder.name!r}")
    if known.get(folder.name, folder) != folder:
        raise StudyError(f"{folder} and {known[folder.name]} are two studies of one name: rename a folder")


def _place(folder: Path) -> None:
    """Let modules of this folder be imported from here."""
    if folder.parent != OURS:
        name = f"{__name__}.{folder.name}"
        package = ModuleType(name, f"The study in {folder}.")
        package.__path__ = [str(folder)]
        sys.modules[name] = package
        setattr(sys.modules[__name__], folder.name, package)


for _folder in (*_installed(), *_split(os.environ.get(STUDIES, ""))):
    _place(_folder)
