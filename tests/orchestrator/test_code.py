"""The code that runs: its commit, and the digest that machines of one sweep share."""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import code
from orchestrator.code import ROOT, TRAINS, commit
from store.provenance import brief, commit_of


@pytest.fixture
def project(monkeypatch, tmp_path) -> Path:
    """A folder that is taken for the project's, with one file in each of its packages."""
    for package in TRAINS:
        (tmp_path / package / "deep").mkdir(parents=True)
        (tmp_path / package / "deep" / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "ROOT", tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", "-C", folder, *name, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_that_of_the_project_and_says_what_differs_from_it(project):
    assert commit() == ""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    sha = git(project, "rev-parse", "HEAD")
    assert commit() == sha
    (project / "store/deep/one.py").write_text("x = 2\n")
    assert commit() == sha + "+"
    assert (commit_of(project, "store"), commit_of(project, "app")) == (sha + "+", sha)


def test_every_package_that_takes_part_in_a_sweep_is_in_the_digest(project):
    digest = code.code_facts.__wrapped__  # not the kept one
    seen = [digest()["this project"]]
    for package in TRAINS:
        (project / package / "deep" / "one.py").write_text("x = 2\n")
        seen.append(digest()["this project"])
    assert len(set(seen)) == len(TRAINS) + 1


def test_the_root_holds_the_packages_and_each_that_a_sweep_imports_is_named():
    assert all((ROOT / package / "__init__.py").is_file() or any((ROOT / package).rglob("*.py")) for package in TRAINS)
    told = "import sys, orchestrator.sweep; print(*{name.split('.')[0] for name in sys.modules})"
    words = [sys.executable, "-c", told]
    loaded = set(subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split())
    packages = {folder.name for folder in ROOT.iterdir() if any(folder.glob("*.py"))}
    assert loaded & packages == set(TRAINS)


def test_a_commit_in_brief_keeps_the_plus_of_files_that_differ():
    sha = "0123456789abcdef"
    assert [brief(one) for one in (sha, sha + "+", "abc+", "")] == ["012345678", "012345678+", "abc+", ""]
