"""Commands that a person may type next, in the form that the person used: `sweep run`, or `python -m orchestrator.sweep`."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

FORMS: Mapping[str, tuple[str, ...]] = {
    "run": ("python", "-m", "orchestrator.sweep"),
    "plan": ("python", "-m", "orchestrator.sweep", "--dry-run"),
    "query": ("python", "-m", "analysis.query"),
    "figure": ("python", "-m", "analysis.figures"),
    "figures": ("python", "-m", "analysis.figures.listed"),
    "report": ("python", "-m", "analysis.report"),
    "verdicts": ("python", "-m", "analysis.verdicts"),
    "study": ("python", "-m", "sweepkit.commands.study"),
    "app": ("streamlit", "run"),
    "store": ("python", "-m", "orchestrator.store"),
    "launch": ("python", "-m", "orchestrator.launch"),
}
"""Subcommands of `sweep`, and the words that do the same without it: those that start it, and an option that comes last."""

ENTRY = "SWEEP_ENTRY"
"""The variable of the environment that gives commands the form `sweep run`: the id of the process in which `sweep` was typed, or
words where no one typed it."""


STUDIES = "SWEEP_STUDIES"
"""The variable of the environment that lists folders of studies, separated as in PATH (`sweepkit.studies`)."""
TAKE_STUDIES = ("figure", "report", "verdicts", "app")
"""The subcommands with an option --study."""


def where(results: str) -> list[str]:
    """`--results DIR`, or nothing for the default directory."""
    return [] if Path(results).absolute() == Path("results").absolute() else ["--results", results]


def words(name: str, *more: str) -> list[str]:
    """The words that start a subcommand of `sweep`: `words("store", "status")`. They name the studies that this process knows
    besides those of the project."""
    if name in TAKE_STUDIES:
        more = (*more, *(word for folder in _studies() for word in ("--study", folder)))
    if os.environ.get(ENTRY):
        return ["sweep", name, *more]
    if name == "app":  # the script stands between Streamlit's own words and those of the app
        page = Path(__file__).resolve().parents[2] / "app" / "main.py"
        shown = page.relative_to(Path.cwd()) if page.is_relative_to(Path.cwd()) else page
        return [*FORMS[name], str(shown), *(["--", *more] if more else [])]
    form = FORMS[name]
    return [*form[:3], *more, *form[3:]]  # arguments before options, as the documentation has them


def _studies() -> Iterator[str]:
    for folder in filter(None, os.environ.get(STUDIES, "").split(os.pathsep)):
        yield name_here(Path(folder))


def name_here(path: Path) -> str:
    """The path as it is typed here: relative below the working directory."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def command(name: str, *more: str) -> str:
    """The words of a command as one line for a shell."""
    return joined(words(name, *more))


def sweep_command(grid: str, results: str, *overrides: str) -> str:
    """The command that trains the missing cells of a grid, into the results that are shown."""
    from sweepkit.shipped import name_of  # here: `shadowing` runs this file where another sweepkit may be found

    return command("run", name_of(grid), *overrides, *where(results))


def name_entry_point() -> None:
    """From here on, commands have the form of the entry point `sweep`, if it is installed. A page in a browser calls this: its
    reader need not know how the server was started."""
    beside = Path(sys.executable).with_name("sweep")
    if beside.exists() or shutil.which("sweep"):
        os.environ.setdefault(ENTRY, "app")


@contextmanager
def documented() -> Iterator[None]:
    """Inside, commands have the form of the documentation, `sweep run`, whatever the person typed: for a page of one form."""
    typed = os.environ.get(ENTRY)
    os.environ[ENTRY] = typed or "documented"
    try:
        yield
    finally:
        if typed is None:
            del os.environ[ENTRY]
        else:
            os.environ[ENTRY] = typed


def joined(words: Sequence[str]) -> str:
    """The words as one line for a shell. SQL keeps its quotation marks legible where that is possible."""
    return " ".join(f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word) for word in words)
