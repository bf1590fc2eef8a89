"""The files of a figure: SVG, PNG, PDF and CSV."""

from pathlib import Path
from typing import Any

import pandas as pd

from analysis.charts.shown.sizing import SHARPNESS, save
from sweepkit.console.writing import make_folder

IMAGES = ("svg", "png", "pdf")
FILES = (*IMAGES, "csv")
SAME = ("png", "csv")
"""Kinds of files that are equal, byte by byte, for equal figures; a PDF holds the time, an SVG of matplotlib random names."""


DIGITS = 10
"""Digits of a number in a CSV: as many as do not depend on the order in which a mean was added up."""


def write(chart: Any, frame: pd.DataFrame, folder: Path, name: str) -> list[str]:
    """Write a chart of Altair, or a figure of matplotlib, and its data as `folder/name.svg`, .png, .pdf and .csv. The endings of
    those that were there, if they were another figure. OSError if a file cannot be written."""
    make_folder(folder)
    files = {kind: folder / f"{name}.{kind}" for kind in FILES}
    before = {kind: file.read_bytes() for kind, file in files.items() if file.is_file()}
    for kind in IMAGES:
        file = files[kind]
        if hasattr(chart, "savefig"):
            chart.savefig(file, bbox_inches="tight", dpi=SHARPNESS * chart.dpi)
        else:
            save(chart, file, kind)
    frame.to_csv(files["csv"], index=False, float_format=f"%.{DIGITS}g")
    changed = [kind for kind, held in before.items() if kind in SAME and files[kind].read_bytes() != held]
    return list(before) if changed else []
