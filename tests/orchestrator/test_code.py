"""The code that runs: its commit, and the digest that machines of one sweep share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import code
from orchestrator.code import FOLDER, TRAINS, commit
from orchestrator.ray.cluster_file import uncommitted
from sweepkit.store import provenance
from sweepkit.store.provenance import brief, commit_of
from tests.sweeps import has_ended, wait_for


@pytest.fixture
def project(monkeypatch, tmp_path) -> Path:
    """A folder that is taken for the project's, with one file in each of its packages."""
    for package in TRAINS:
        (tmp_path / package / "deep").mkdir(parents=True)
        (tmp_path / package / "deep" / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "FOLDER", tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(["git", "-C", folder, *name, *words], check=True, capture_output=True, text=True, env=clean)
    return done.stdout.strip()


def test_the_commit_is_that_of_the_project_and_says_what_differs_from_it(project):
    assert commit() == ""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    sha = git(project, "rev-parse", "HEAD")
    assert commit() == sha
    (project / "sweepkit/deep/one.py").write_text("x = 2\n")
    assert commit() == sha + "+"
    assert (commit_of(project, "sweepkit"), commit_of(project, "app")) == (sha + "+", sha)


@pytest.fixture
def other(tmp_path_factory, monkeypatch) -> Path:
    """Another repository, of one commit."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "theirs.txt").write_text("x")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "theirs")
    return folder


def test_variables_of_another_program_name_no_other_commit(project, other, monkeypatch):
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    sha = git(project, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "no-index"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))
    assert commit() == sha
    (project / "sweepkit/deep/one.py").write_text("x = 2\n")
    assert commit() == sha + "+" and uncommitted(project) == ["sweepkit/deep/one.py"]


def test_a_repository_around_the_installed_package_is_not_its_own(other, monkeypatch):
    (other / "venv/site-packages/sweepkit").mkdir(parents=True)
    monkeypatch.setattr(code, "FOLDER", other / "venv/site-packages")
    assert commit() == ""
    (other / "venv/site-packages/sweepkit/x.py").write_text("x")
    assert commit() == ""
    git(other, "add", ".")  # now it is: they keep it with theirs
    git(other, "commit", "-q", "-m", "with a copy")
    assert commit() == git(other, "rev-parse", "HEAD")
    (other / "theirs.txt").write_text("changed")
    assert commit() == git(other, "rev-parse", "HEAD")


def test_a_git_that_does_not_answer_is_ended_with_what_it_started(project, tmp_path, monkeypatch):
    stuck = tmp_path / "bin" / "git"
    stuck.parent.mkdir()
    stuck.write_text('#!/bin/sh\nsleep 600 &\necho $! > "$0.part" && mv "$0.part" "$0.pid"\nwait\n')
    stuck.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stuck.parent}{os.pathsep}{os.environ['PATH']}")
    communicate = subprocess.Popen.communicate

    def once_it_has_started(process, *args, timeout=None):
        """A time limit that no busy machine reaches before the stub has said what it started."""
        if timeout:
            wait_for(stuck.with_name("git.pid").exists)
            timeout = 0.01
        return communicate(process, *args, timeout=timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", once_it_has_started)
    assert commit() == ""
    started = int(stuck.with_name("git.pid").read_text())
    wait_for(lambda: has_ended(started))


def test_what_git_cannot_compare_counts_as_changed(project, monkeypatch):
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "one")
    monkeypatch.setattr(provenance, "git", lambda folder, *words: None if words[0] == "status" else "x")
    assert commit() == "x+"


def test_every_package_that_takes_part_in_a_sweep_is_in_the_digest(project):
    digest = code.code_facts.__wrapped__  # not the kept one
    seen = [digest()["this project"]]
    for package in TRAINS:
        (project / package / "deep" / "one.py").write_text("x = 2\n")
        seen.append(digest()["this project"])
    assert len(set(seen)) == len(TRAINS) + 1


def test_machines_whose_git_ends_lines_otherwise_run_the_same_code(project):
    digest = code.code_facts.__wrapped__()
    (project / "sweepkit/deep/one.py").write_bytes(b"x = 1\r\n")
    assert code.code_facts.__wrapped__() == digest


def test_the_root_holds_the_packages_and_each_that_a_sweep_imports_is_named():
    assert all((FOLDER / package / "__init__.py").is_file() or any((FOLDER / package).rglob("*.py")) for package in TRAINS)
    told = "import sys, orchestrator.sweep; print(*{name.split('.')[0] for name in sys.modules})"
    words = [sys.executable, "-c", told]
    loaded = set(subprocess.run(words, cwd=FOLDER, check=True, capture_output=True, text=True).stdout.split())
    packages = {folder.name for folder in FOLDER.iterdir() if any(folder.glob("*.py"))}
    assert loaded & packages == set(TRAINS)


def test_a_commit_in_brief_keeps_the_plus_of_files_that_differ():
    sha = "0123456789abcdef"
    assert [brief(one) for one in (sha, sha + "+", "abc+", "")] == ["012345678", "012345678+", "abc+", ""]
