"""A store of known laws, made once, and a cache of theory that tests do not share with their user."""

import pytest

from tests.measured_store import measured_store


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    return measured_store(tmp_path_factory.mktemp("measured"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
