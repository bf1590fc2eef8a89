"""Digests of large files: kept until the file changes, and computed anew where the kept one is of no use."""

from trainables.features import digests
from trainables.features.digests import file_digest


def test_a_digest_that_cannot_be_kept_is_known_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "KEPT_FROM", 0)
    (tmp_path / "in the way").write_text("")
    monkeypatch.setattr(digests, "cache_folder", lambda: tmp_path / "in the way")
    (tmp_path / "file").write_text("one")
    assert file_digest(tmp_path / "file") == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"


def test_digests_of_large_files_are_kept_until_the_file_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(digests, "KEPT_FROM", 0)
    file = tmp_path / "file"
    file.write_text("one")
    first = file_digest(file)
    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    (text,) = (tmp_path / "cache").rglob("digests/*")
    text.write_text("f" * 64)
    assert file_digest(file) == "f" * 64  # looked up
    for torn in (b"torn", b"\xff" * 64):
        text.write_bytes(torn)
        assert file_digest(file) == first and text.read_text() == first
    text.unlink()
    text.mkdir()  # cannot be read, even by a superuser
    assert file_digest(file) == first
    file.write_text("other")
    assert file_digest(file) != first
