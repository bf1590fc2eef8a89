"""Files of the cache: written whole or not at all."""

import pytest

from console.cache import cache_folder, write_whole


def test_a_small_file_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "kept").write_text("old")
    for call in ("os.fsync", "os.chmod", "os.replace"):
        with monkeypatch.context() as patched:

            def full(*args):
                raise OSError(28, "No space left on device")

            patched.setattr(call, full)
            with pytest.raises(OSError, match=r"cannot be written \(No space left on device\): '.*/kept'"):
                write_whole(tmp_path / "kept", "new")
        assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "old"


def test_a_cache_folder_that_depends_on_the_working_directory_does_not_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home/.cache/sweep-orchestrator"
    monkeypatch.setenv("HOME", "relative")
    assert cache_folder().is_absolute() and not list(tmp_path.glob("relative*"))
