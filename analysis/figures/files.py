"""The files of a figure: SVG, PNG, PDF and CSV."""

from pathlib import Path
from typing import Any

import pandas as pd

from analysis.charts.shown.sizing import SHARPNESS, save
from sweepkit.console.writing import make_folder

IMAGES = ("svg", "png", "pdf")
FILES = (*IMAGES, "csv")


def write(chart: Any, frame: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a chart of Altair, or a figure of matplotlib, and its data as `folder/name.svg`, .png, .pdf and .csv. OSError if a
    file cannot be written."""
    make_folder(folder)
    for kind in IMAGES:
        file = folder / f"{name}.{kind}"
        if hasattr(chart, "savefig"):
            chart.savefig(file, bbox_inches="tight", dpi=SHARPNESS * chart.dpi)
        else:
            save(chart, file, kind)
    frame.to_csv(folder / f"{name}.csv", index=False)
