"""The rooms that the others share: store, statistics, declared columns, strings, words for people, the command `sweep`."""

from pathlib import Path

__version__ = "0.2.0"
FOLDER = Path(__file__).resolve().parents[1]
"""The folder in which this package and `orchestrator`, `trainables`, `analysis` and `app` lie: a clone, or site-packages."""
