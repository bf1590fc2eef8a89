"""One contract for every file system a store can lie on: a new one joins `BACKENDS`."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from store.files import Files, LocalFiles, ResultsError, open_files

BACKENDS: dict[str, Callable[[Path], Files]] = {"local": lambda place: LocalFiles(str(place / "results"))}


@pytest.fixture(params=BACKENDS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return BACKENDS[request.param](tmp_path)


def test_nothing_is_there_at_first(files: Files) -> None:
    assert not files.exists()
    assert files.entries("packs") == []
    files.prepare()
    assert files.exists()
    assert files.entries("", hidden=True) == []  # the probe is gone


def test_what_was_written_is_read(files: Files) -> None:
    files.write("packs/a.parquet", b"abc")
    assert files.read("packs/a.parquet") == b"abc"
    with files.open("packs/a.parquet") as source:
        assert source.read() == b"abc"
    (entry,) = files.entries("packs")
    assert (entry.path, entry.size) == ("packs/a.parquet", 3)


def test_write_replaces(files: Files) -> None:
    files.write("a", b"long before")
    files.write("a", b"new")
    assert files.read("a") == b"new"
    assert [entry.path for entry in files.entries("", hidden=True)] == ["a"]


def test_entries_are_the_files_of_one_folder_by_name(files: Files) -> None:
    for path in ("packs/b", "packs/a", "packs/deeper/c", "other/d"):
        files.write(path, b"x")
    assert [entry.path for entry in files.entries("packs")] == ["packs/a", "packs/b"]


def test_temporaries_are_hidden(files: Files) -> None:
    files.write("packs/.a.1.inprogress", b"x")
    assert files.entries("packs") == []
    assert [entry.path for entry in files.entries("packs", hidden=True)] == ["packs/.a.1.inprogress"]


def test_delete_twice(files: Files) -> None:
    files.write("a", b"x")
    files.delete("a")
    files.delete("a")
    assert files.entries("") == []


def test_missing_file_says_so(files: Files) -> None:
    files.prepare()
    with pytest.raises(FileNotFoundError):
        files.read("packs/none")
    with pytest.raises(FileNotFoundError):
        files.open("packs/none")


def test_too_little_room(files: Files) -> None:
    with pytest.raises(ResultsError, match=r"too little disk .* 1e\+12 GB needed, .* GB free"):
        files.prepare(need_bytes=10**21)


def test_travels_to_workers(files: Files) -> None:
    files.write("a", b"x")
    assert pickle.loads(pickle.dumps(files)).read("a") == b"x"


def test_a_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(str(tmp_path))
    files.write("a", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        files.write("a", b"new")
    assert os.listdir(tmp_path) == ["a"]
    assert files.read("a") == b"old"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match=r"cannot write to the results directory .*file/results"):
        open_files(str(tmp_path / "file" / "results")).prepare()


@pytest.mark.parametrize("uri", ["s3://bucket/results", "gs://bucket", "S3://x"])
def test_unsupported_uri_is_named(uri: str) -> None:
    with pytest.raises(ResultsError, match="is not supported yet"):
        open_files(uri)


def test_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_files("results").root == str(tmp_path / "results")
    assert open_files(f"file://{tmp_path}").root == str(tmp_path)
    with pytest.raises(ResultsError, match="empty name"):
        open_files("")
