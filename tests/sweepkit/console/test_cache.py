"""The folder of the cache, and digests of the files that it depends on."""

import hashlib

from sweepkit.console.cache import cache_folder, digest


def test_a_cache_folder_that_depends_on_the_working_directory_does_not_count(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home/.cache/sweep-orchestrator"
    monkeypatch.setenv("HOME", "relative")
    assert cache_folder().is_absolute() and not list(tmp_path.glob("relative*"))


def test_a_digest_counts_the_text_and_not_its_line_ends(tmp_path):
    file = tmp_path / "x.py"
    found = []
    for data in (b"a\nb\n", b"a\r\nb\r\n", b"a\rb\r", b"a b\n"):
        file.write_bytes(data)
        found.append(digest([file]))
    assert found[0] == found[1] == found[2] != found[3]
    assert found[0] == hashlib.sha256(b"a\nb\n").hexdigest()[:16]
