"""The words of a study: its README, the command that trains it, the sweeps of its grids."""

import re

from analysis.studies.declared import Declared
from sweepkit.console.commands import command, name_here, where
from sweepkit.studies import OURS

_PICTURE = re.compile(r"^!\[.*?\]\(.*?\)\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def readme(study: Declared) -> str:
    """Its README in Markdown, without its title, pictures, and links to other files: it is read elsewhere. Empty without one."""
    file = study.folder / "README.md"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return _LINK.sub(r"\1", _PICTURE.sub("", re.sub(r"\A# .*\n", "", text))).strip()


def run_command(study: Declared, results: str, full: bool = False) -> str:
    """The command that trains what it lacks, judges it and draws it."""
    word = study.name if study.folder.parent == OURS else name_here(study.folder)
    return command("study", "run", word, *(["--full"] if full else []), *where(results))


def sweeps_of(study: Declared) -> list[str]:
    """The names of the sweeps that its grids make."""
    texts = [study.grid_file(grid).read_text(encoding="utf-8") for grid in study.grids]
    return [found[1].strip() for text in texts if (found := re.search(r"^sweep:(.*)$", text, re.MULTILINE))]
