"""The choice of the file system that `--results` names."""

import os
import re
from pathlib import Path

from sweepkit.console.words import listed, show
from sweepkit.store.files.base import PLANS, UNUSABLE, WRITTEN, Files, NoResults, ResultsError
from sweepkit.store.files.local import LocalFiles


def existing(results: str, named: str = "name it with --results") -> Files:
    """The file system of an existing results directory; NoResults if there is none, or if it is a folder of something else.

    `named`: how a person names another. An empty directory is one without results yet.
    """
    files = open_files(results)
    if not files.exists():
        raise NoResults(f"no results directory at {files.root}: {named}, or run a sweep first")
    if isinstance(files, LocalFiles) and (there := _shown(files.root)) and not there & set(WRITTEN):
        below = sorted(str(plans.parent) for plans in Path(files.root).glob(f"*/{PLANS}"))  # a project, in place of its results
        instead = f"there are results in {listed(below)}: {named}" if below else f"{named}, or run a sweep first"
        raise NoResults(f"{files.root} holds files, and none that a sweep has written; {instead}")
    return files


def _shown(folder: str) -> set[str]:
    """Names in a folder but for hidden ones; none if it cannot be listed: what reads it says so."""
    try:
        return {name for name in os.listdir(folder) if not name.startswith(".")}
    except OSError:
        return set()


def location(results: object) -> str:
    """The path or URI that a caller in Python names, as text. ResultsError for anything else, whose `str` would name a directory
    as well."""
    if isinstance(results, str | os.PathLike) and isinstance(path := os.fspath(results), str):
        return path
    kind, held = type(results).__name__, getattr(results, "results", None)
    instead = f"say results={held!r}" if isinstance(held, str) else f"given {show(results)}; say results='results'"
    raise ResultsError(f"results: a path or a URI, not {'an' if kind[:1] in 'aeiou' else 'a'} {kind}; {instead}")


def open_files(results: str) -> Files:
    """The file system behind `--results`: a local path (made absolute), a file:// or an s3:// URI. ResultsError for any other."""
    text = str(results)
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "file":
        text = rest
    elif separator and scheme.lower() == "s3":
        from sweepkit.extras import missing_extra

        if why := missing_extra("cluster"):
            raise ResultsError(why)
        from sweepkit.store.files.bucket import Bucket
        from sweepkit.store.files.s3 import S3Files

        return S3Files(Bucket.parse(text).uri)
    elif separator:
        raise ResultsError(f"results at {text!r}: {scheme}:// is not supported; give a local path, or s3://BUCKET/PREFIX")
    if not text.strip():
        raise ResultsError("the results directory has an empty name")
    if near := re.match(r"(s3|file):/*(?=[^/])", text, re.IGNORECASE):
        raise ResultsError(f"results at {text!r}: write {near[1].lower()}://{text[near.end() :]}")
    if wrong := UNUSABLE.search(text):
        raise ResultsError(
            f"results at {text!r}: the path holds {wrong[0]!r}, from which DuckDB cannot read; choose another name"
        )
    return LocalFiles(os.path.abspath(os.path.expanduser(text)))
