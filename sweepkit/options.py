"""Options that several commands have."""

from typing import Annotated

import typer

from sweepkit.studies import add


def _known(folders: list[str] | None) -> list[str] | None:
    for folder in folders or ():
        add(folder)
    return folders


Studies = Annotated[
    list[str] | None,
    typer.Option(
        "--study",
        metavar="DIR",
        callback=_known,
        is_eager=True,
        help="The folder of a study of yours: its theory, figures and claims count, too. May be repeated.",
    ),
]
"""Folders of studies that a command takes into account, besides those of the project."""
