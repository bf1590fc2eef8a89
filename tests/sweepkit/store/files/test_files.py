"""One contract for every file system a store can lie on."""

import os
import pickle
from pathlib import Path

import pytest

from sweepkit.store.files import Entry, Files, LocalFiles, ResultsError, age_s, open_files


def test_nothing_is_there_at_first(files: Files) -> None:
    assert not files.exists()
    assert files.entries("packs") == []
    files.prepare()
    assert files.entries("", hidden=True) == []  # the probe is gone
    files.write("packs/a.parquet", b"abc")
    assert files.exists()


def test_what_was_written_is_read(files: Files) -> None:
    files.write("packs/a.parquet", b"abc")
    assert files.read("packs/a.parquet") == b"abc"
    (entry,) = files.entries("packs")
    assert (entry.path, entry.size) == ("packs/a.parquet", 3)
    with files.open(entry) as source:
        assert source.read() == b"abc"
    assert Path(files.address(entry)).read_bytes() == b"abc"
    found = files.entry("packs/a.parquet")
    assert found and (found.path, found.size, found.version) == (entry.path, 3, entry.version)
    assert files.entry("packs/b.parquet") is None
    assert abs(age_s(files, entry)) < 10


def test_write_replaces(files: Files) -> None:
    files.write("a", b"old")
    (old,) = files.entries("")
    with files.open(old) as source:
        assert source.read() == b"old"
    files.write("a", b"new")
    assert files.read("a") == b"new"
    (new,) = files.entries("")
    with files.open(new) as source:
        assert source.read() == b"new"
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
        files.open(Entry("packs/none", 3, 0.0))


def test_too_little_room(tmp_path: Path) -> None:
    files = LocalFiles(str(tmp_path / "results"))
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


@pytest.mark.parametrize("uri", ["gs://bucket", "https://host/bucket"])
def test_unsupported_uri_is_named(uri: str) -> None:
    with pytest.raises(ResultsError, match="is not supported; give a local path, or s3://BUCKET/PREFIX"):
        open_files(uri)


def test_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_files("results").root == str(tmp_path / "results")
    assert open_files(f"file://{tmp_path}").root == str(tmp_path)
    with pytest.raises(ResultsError, match="empty name"):
        open_files("")
