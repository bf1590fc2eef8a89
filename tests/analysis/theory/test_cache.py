"""Theory kept on disk."""

import tempfile

from sweepkit.studies.tong25.theory.lazy import accuracy_bound

from analysis.theory.cache import is_kept, kept, theory_cache


def test_second_call_comes_from_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    call = (accuracy_bound, 16, 8, 0.5)
    assert not is_kept(*call)
    assert kept(*call) == accuracy_bound(16, 8, 0.5)
    assert is_kept(*call)
    assert not is_kept(accuracy_bound, 16, 8, 0.25)
    assert kept(accuracy_bound, 16, d=8, c=0.5) == kept(*call)
    assert is_kept(accuracy_bound, 16, d=8, c=0.5)
    assert str(theory_cache().location).startswith(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert not is_kept(*call)


def test_home_that_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert str(theory_cache().location).startswith(str(tmp_path / "tmp"))
