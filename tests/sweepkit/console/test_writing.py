"""Files that are written whole or not at all, and that a group shares where the folder is shared."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweepkit.console.writing import make_folder, whole, write_whole
from tests.two_users import make_shared, two_users


def test_a_small_file_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "kept").write_text("old")
    for call in ("os.fsync", "os.replace"):
        with monkeypatch.context() as patched:

            def full(*args):
                raise OSError(28, "No space left on device")

            patched.setattr(call, full)
            with pytest.raises(OSError, match=r"cannot be written \(No space left on device\): '.*/kept'"):
                write_whole(tmp_path / "kept", "new")
        assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "old"


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    write_whole(tmp_path / "kept", "old")
    with pytest.raises(ZeroDivisionError), whole(tmp_path / "kept") as sink:
        sink.write(b"half")
        raise ZeroDivisionError
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "old"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


SETGID, OF_GROUP, PRIVATE, PUBLIC = 0o2770, 0o775, 0o755, 0o1777
MODES = [
    # mode of the folder, umask, modes of a file and of a folder in it
    (SETGID, 0o077, 0o660, 0o2770),
    (SETGID, 0o022, 0o660, 0o2770),
    (SETGID, 0o000, 0o660, 0o2770),
    (0o2750, 0o077, 0o640, 0o2750),
    (0o2775, 0o077, 0o660, 0o2770),
    (0o2775, 0o022, 0o664, 0o2775),
    (0o3770, 0o077, 0o660, 0o2770),  # sticky: members replace only their own files
    (OF_GROUP, 0o077, 0o660, 0o770),
    (OF_GROUP, 0o022, 0o664, 0o775),
    (PRIVATE, 0o022, 0o644, 0o755),
    (PRIVATE, 0o077, 0o600, 0o700),
    (SETGID, 0o777, 0o660, 0o2770),
    (PRIVATE, 0o777, 0o600, 0o700),
    (PUBLIC, 0o077, 0o600, 0o700),
    (PUBLIC, 0o022, 0o644, 0o755),
]


@pytest.mark.parametrize(("mode", "mask", "of_file", "of_folder"), MODES)
def test_what_is_written_follows_a_shared_folder(tmp_path, umask, mode, mask, of_file, of_folder):
    folder = tmp_path / "results"
    folder.mkdir()
    folder.chmod(mode)
    os.umask(mask)
    make_folder(folder / "packs" / "deeper")
    write_whole(folder / "file", "content")
    write_whole(folder / "packs" / "deeper" / "file", "content")
    assert _modes(folder / "file", folder / "packs" / "deeper" / "file") == [of_file] * 2
    assert _modes(folder / "packs", folder / "packs" / "deeper") == [of_folder] * 2


def _modes(*paths: Path) -> list[int]:
    return [stat.S_IMODE(path.stat().st_mode) for path in paths]


def test_a_file_system_without_rights_is_written(tmp_path, umask, monkeypatch):
    tmp_path.chmod(0o2770)

    def refused(*args):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("sweepkit.console.writing.os.chmod", refused)
    os.umask(0o077)
    write_whole(tmp_path / "file", "content")
    assert (tmp_path / "file").read_text() == "content"


WRITE = """import sys
from pathlib import Path
from sweepkit.console.writing import write_whole
write_whole(Path(sys.argv[1]), sys.argv[2])"""


def test_two_users_replace_each_others_files():
    with two_users() as (one, other, place):
        for name, mode in {"setgid": 0o2770, "of-group": 0o770}.items():
            file = make_shared(place / name, one, mode) / "plans" / "file"
            for user, word in ((one, "first"), (other, "second"), (one, "third")):
                done = user.run("-c", WRITE, str(file), word)
                assert (done.returncode, done.stderr) == (0, "")
                assert file.read_text() == word
            assert file.stat().st_gid == one.shared
        # The folder's group is not that of the writer: nothing is opened to another one.
        strange = place / "strange"
        strange.mkdir()
        strange.chmod(0o777)
        assert one.run("-c", WRITE, str(strange / "file"), "word").returncode == 0
        assert _modes(strange / "file") == [0o600]


def test_a_private_folder_stays_private():
    with two_users() as (one, other, place):
        file = make_shared(place / "private", one, 0o755) / "file"
        assert one.run("-c", WRITE, str(file), "first").returncode == 0
        done = other.run("-c", WRITE, str(file), "second")
        assert done.returncode == 1 and "Permission denied" in done.stderr
        assert file.read_text() == "first"
