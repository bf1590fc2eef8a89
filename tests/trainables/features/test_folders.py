"""Messages about files in a user's folders that cannot be read."""

import errno

import pytest

from trainables.features.folders import data_folder, readable


@pytest.mark.parametrize("named", [None, "data/file"])
def test_a_file_that_cannot_be_read_is_named_else_its_folder(tmp_path, named):
    with pytest.raises(ValueError, match=rf"^{named or tmp_path} cannot be read: Input/output error$"), readable(tmp_path):
        raise OSError(errno.EIO, "Input/output error", named)


def test_other_errors_stay_as_they_are(tmp_path):
    with pytest.raises(KeyError), readable(tmp_path):
        raise KeyError("x")


def test_a_home_of_nobody_is_a_folder_like_any(tmp_path, monkeypatch):
    """`Path.expanduser` raises a RuntimeError there, which no command would put in words."""
    monkeypatch.chdir(tmp_path)
    assert data_folder("~nobody-of-this-name/data")[0] == tmp_path / "~nobody-of-this-name/data"
