"""Reads the files that a grid is made of. What is wrong with a file is reported; nothing is raised."""

import difflib
from dataclasses import replace
from pathlib import Path

from orchestrator.grid.syntax.problems import Report
from sweepkit.console.yaml_lines import MAX_FILE_MB, Item


def read_text(path: Path, where: Item, report: Report) -> str | None:
    """The text of a file; None, with a report at `where`, for a file that cannot be read, is too large or is no text."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_MB * 2**20 + 1)
    except FileNotFoundError:
        neighbours = [p.name for p in path.parent.glob("*" + path.suffix)] if path.suffix and path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, neighbours, n=1)
        report.at(where, f"no such file{f'; did you mean {str(path.with_name(near[0]))!r}?' if near else ''}")
        return None
    except IsADirectoryError:
        report.at(where, "is a directory; name the file in it")
        return None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        report.at(where, f"cannot be read: {getattr(error, 'strerror', None) or error}")
        return None
    if len(data) > MAX_FILE_MB * 2**20:
        report.at(where, f"is larger than {MAX_FILE_MB} MB; a grid is a page of text")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        report.at(replace(where, line=data.count(b"\n", 0, error.start) + 1), "not a text file in UTF-8")
        return None
