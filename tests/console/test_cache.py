"""Files of the cache: written whole or not at all."""

import pytest

from console.cache import write_whole


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
