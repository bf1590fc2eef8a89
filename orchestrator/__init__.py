"""Sweeps: from a grid to stored results."""

from pathlib import Path
from runpy import run_path

run_path(str(Path(__file__).parents[1] / "console" / "hidden.py"))  # refuses if a file in the working directory hides a package
