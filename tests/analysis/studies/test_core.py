"""The core knows no study: it asks them."""

import re
from pathlib import Path

from analysis.studies.loading import studies

ROOT = Path(__file__).parents[3]
CORE = [file for room in ("analysis", "app", "orchestrator", "sweepkit") for file in sorted((ROOT / room).rglob("*.*"))]
MATHEMATICS = (ROOT / "sweepkit" / "strings",)
"""The rooms that tasks and studies share, with their sources: tasks cannot know a study."""
OTHERWISE = {"power_law"}
"""Names of studies that are words for something else, too: a fit of `sweepkit.stats`."""


def test_the_core_names_no_paper_and_no_study():
    tags = [study.tag for study in studies() if study.tag]
    names = [study.name for study in studies() if re.search(r"[_0-9]", study.name) and study.name not in OTHERWISE]
    modules = [f"studies.{study.name}" for study in studies()]
    named = re.compile(rf"\b({'|'.join([*tags, *names, *modules])})\b")
    files = [file for file in CORE if file.suffix in (".py", ".html", ".sql") and file.is_file()]
    assert len(files) > 200 and len(tags) > 3 and len(names) > 10
    found = [
        f"{file.relative_to(ROOT)}: {named.search(text)[0]}"
        for file in files
        if not any(file.is_relative_to(folder) for folder in MATHEMATICS) and named.search(text := file.read_text())
    ]
    assert not found, found
