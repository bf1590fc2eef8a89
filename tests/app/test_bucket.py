"""The app over results in a bucket: the same numbers as over the directory that was copied there."""

import sys
from pathlib import Path

from streamlit.testing.v1 import AppTest

import app
from analysis.data.source import state
from analysis.sql.guarded import close_waiting, guarded_query
from sweepkit.store.files import open_files
from sweepkit.store.files.base import FOLDERS, LOGS
from tests.app.conftest import RUN_S, script_of_page


def copied(directory: str, uri: str) -> None:
    files = open_files(uri)
    for folder in (*FOLDERS, LOGS):
        for entry in open_files(directory).entries(folder):
            files.write(entry.path, Path(directory, entry.path).read_bytes())


def test_pages_show_what_is_in_the_bucket(small_results, bucket, monkeypatch):
    uri = f"s3://{bucket}/small"
    before = state(uri)
    copied(small_results, uri)
    assert state(uri) != before
    pages = []
    for results in (small_results, uri):
        monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", results])
        shown = AppTest.from_file(str(Path(app.__file__).parent / "script.py"), default_timeout=RUN_S).run()
        assert not shown.exception and not shown.error, (shown.exception, shown.error)
        told = (text.value for text in (*shown.header, *shown.subheader, *shown.markdown))
        pages.append([text.replace(results, "RESULTS") for text in told])  # commands to type name the place
    assert pages[0] == pages[1]
    assert any("tiny" in text for text in pages[1])


def test_sql_of_strangers_in_its_own_process(small_results, bucket):
    uri = f"s3://{bucket}/small"
    copied(small_results, uri)
    close_waiting()  # the process that waits for a query has the environment of an earlier test
    assert guarded_query(uri, "SELECT count(*), count(DISTINCT cell_id) FROM cells", timeout_s=60).rows == [(17, 17)]


def test_an_address_that_cannot_work_is_an_error_on_the_page(s3, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["app/main.py", "--results", "s3://not-there/x"])
    shown = AppTest.from_function(script_of_page, default_timeout=RUN_S, args=("home",)).run()
    assert not shown.exception
    assert "there is no bucket 'not-there'" in shown.error[0].value
