"""Files that hold a secret: from their first moment no other user can read them."""

import errno
import os
import stat
from pathlib import Path

import pytest
import typer

from orchestrator import launch
from orchestrator.secret import write_secret


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_it_is_its_owners_alone_whenever_it_can_be_seen(tmp_path, open_umask, monkeypatch):
    seen = []
    link = os.link

    def looking(part, path):
        seen.extend((mode(Path(part)), Path(part).read_text()))
        link(part, path)

    monkeypatch.setattr(os, "link", looking)
    path = tmp_path / "secret"
    assert write_secret(path, "abc")
    assert seen == [0o600, "abc"] and mode(path) == 0o600 and path.read_text() == "abc"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_hard_links_takes_it_too(tmp_path, open_umask, monkeypatch, number):
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", fails)
    path = tmp_path / "secret"
    assert [write_secret(path, text) for text in ("first", "second")] == [True, False]
    assert (path.read_text(), mode(path), list(tmp_path.iterdir())) == ("first", 0o600, [path])


def test_a_file_system_that_cannot_sync_takes_it_too(tmp_path, monkeypatch):
    def fails(descriptor: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", fails)
    assert write_secret(tmp_path / "secret", "abc")


def test_the_first_of_two_stays_and_an_empty_file_open_to_all_is_none(tmp_path, open_umask):
    path = tmp_path / "secret"
    path.touch()
    assert mode(path) == 0o666
    assert [write_secret(path, text) for text in ("first", "second")] == [True, False]
    assert path.read_text() == "first" and mode(path) == 0o600


def test_the_token_of_clusters_is_private_under_any_umask(tmp_path, open_umask, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    launch._make_token()
    token = tmp_path / ".ray" / "auth_token"
    made = token.read_text()
    assert (mode(token), mode(token.parent), len(made)) == (0o600, 0o700, 64)
    token.chmod(0o644)
    launch._make_token()
    assert (mode(token), token.read_text()) == (0o600, made)


def test_a_home_that_cannot_hold_it_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    with pytest.raises(typer.Exit):
        launch._make_token()
    assert "~/.ray/auth_token: No such file or directory; let HOME name a directory" in " ".join(capsys.readouterr().err.split())
