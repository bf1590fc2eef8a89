"""The promises of docs/inside/security.md: nothing that is read runs, nothing listens to the network, others' words are text."""

import ast
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import analysis.query
import orchestrator.store
from analysis.report.build import build
from app.screens.home import _table
from sweepkit.console import cache
from sweepkit.console.cache import cache_folder
from sweepkit.console.escaping import printable
from sweepkit.store.files import ResultsError, open_files
from sweepkit.store.schema import table_of
from sweepkit.store.store import Store
from sweepkit.store.upkeep.check import check
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.upkeep.summary import summarise
from sweepkit.store.views import fetch
from sweepkit.store.weights import read_pictures
from tests.store_rows import row, rows
from tests.sweeps import wait_for

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sweepkit", "trainables", "orchestrator", "analysis", "app", "benchmarks")

RUNS_WHAT_IT_READS = {
    "eval", "exec", "yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "pickle.load", "pickle.loads",
    "pickle.Unpickler", "cloudpickle.load", "cloudpickle.loads", "dill.load", "marshal.load", "marshal.loads", "shelve.open",
    "joblib.load", "torch.load", "np.load", "numpy.load", "pd.read_pickle", "pandas.read_pickle", "os.system", "os.popen",
}  # fmt: skip
ALLOWED = {
    ("orchestrator/grid/own/files.py", "exec"): "the user's own file, which the user's grid names",
    ("orchestrator/ray/runner.py", "pickle.loads"): "cells that the driver put into Ray's object store",
    ("orchestrator/ray/runner.py", "pickle.load"): "a checkpoint in the sweep's scratch directory, which is private to its user",
    ("analysis/background.py", "pickle.loads"): "the pipe between a process and the child that it started",
    ("analysis/claims/verdict_cache.py", "pickle.loads"): "verdicts in the cache, which is private to its user",
    ("orchestrator/python/process.py", "pickle.loads"): "the pipe between a notebook and the sweep that it started",
    ("trainables/features/images/readers.py", "pickle.Unpickler"): "a reader of CIFAR that lets arrays in and nothing else",
    ("sweepkit/store/sharing/old_runs.py", "pickle.Unpickler"): "a reader of old runs that lets plain values and arrays in",
    (
        "trainables/features/weights/headers.py",
        "pickle.Unpickler",
    ): "a reader of given weights that makes sizes of tensors and nothing else",
}
"""Each with what it reads. The store and the results' own files are not among them."""


def _calls(path: Path) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node
        elif isinstance(node, ast.ClassDef):
            yield from ((ast.unparse(base), node) for base in node.bases)


def test_nothing_runs_what_it_reads() -> None:
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for name, node in _calls(path):
                words = {word.arg: ast.unparse(word.value) for word in getattr(node, "keywords", [])}
                is_safe = words.get("weights_only") == "True" or words.get("allow_pickle") == "False"
                if name in RUNS_WHAT_IT_READS and not is_safe:
                    found.add((str(path.relative_to(ROOT)), name))
                assert words.get("shell") != "True", f"{path}: a shell"
                assert words.get("unsafe_allow_html") != "True", f"{path}: raw HTML in a page"
    assert found == ALLOWED.keys()


@pytest.mark.parametrize("folder_of", [cache.cache_folder, cache_folder], ids=["kernels", "theory"])
def test_what_is_unpickled_from_a_cache_is_the_users_own(folder_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba and joblib unpickle what they kept: nobody else may write there, nor have made the folder beforehand."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = folder_of()
    assert folder == tmp_path / "sweep-orchestrator"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    assert stat.S_IMODE(folder_of().stat().st_mode) & 0o022 == 0
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)  # as another user sees it
    other = folder_of()
    assert other != folder and stat.S_IMODE(other.stat().st_mode) == 0o700


@pytest.mark.parametrize("where", ["the root", "elsewhere"])
def test_the_app_listens_to_this_machine_alone(where: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    page = "app/main.py" if where == "the root" else str(ROOT / "app" / "main.py")
    command = [sys.executable, "-m", "streamlit", "run", page, "--server.port", str(port), "--", "--results", str(tmp_path)]
    server = subprocess.Popen(
        command, cwd=ROOT if where == "the root" else tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        process = psutil.Process(server.pid)
        found: set[str] = set()

        def listens() -> bool:
            found.update(c.laddr.ip for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN)
            return bool(found)

        wait_for(listens, server)
        assert found <= {"127.0.0.1", "::1"}
    finally:
        server.kill()
        server.communicate()


MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)> [red]x[/red] \x1b[31mred\x1b]0;title\x07"


@pytest.fixture
def hostile(tmp_path: Path) -> Store:
    """A store that somebody filled who knew how its readers work."""
    store = Store(str(tmp_path / "results"))
    ill = row("<b>0" + "0" * 16, status="failed", reason=MARKUP, log_path=MARKUP, host=MARKUP, device=MARKUP)
    store.commit("p", [*rows(1, 2, host=MARKUP, device=MARKUP), ill])
    store.write_plan(MARKUP, ["<b>0" + "0" * 16, *(f"{i:020x}" for i in (1, 2))])
    return store


def test_the_report_shows_markup_as_text(hostile: Store) -> None:
    html = build(hostile.results, lambda missing: None)
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html and "<img src=x" not in html


def test_the_app_shows_markup_as_text(hostile: Store) -> None:
    from analysis.data.progress.coverage import reasons

    html = _table(reasons(hostile.results)[MARKUP])
    assert "&lt;script&gt;" in html and "&lt;b&gt;0" in html
    assert "<script" not in html and "<img" not in html and "<b>" not in html


@pytest.mark.parametrize(
    ("app", "words"),
    [
        (orchestrator.store.app, ["status"]),
        (orchestrator.store.app, ["check"]),
        (analysis.query.app, ["SELECT reason, host, log_path, sweep FROM cells JOIN plans USING (cell_id)"]),
        (analysis.query.app, ["SELECT 1 AS \"\x1b[31m[red]\""]),
        (analysis.query.app, ["SELECT error(max(reason)) FROM cells"]),
    ],
)  # fmt: skip
def test_terminals_get_no_escape_sequences(hostile: Store, app, words: list[str]) -> None:
    leases = Path(hostile.results, "leases")
    leases.mkdir()
    (leases / "x\x1b[2J.json").write_text("{}")
    (leases / "y.json").write_text(json.dumps({"host": MARKUP, "pid": 1, "started": MARKUP, "cell_ids": ["a"]}))
    said = CliRunner().invoke(app, [*words, "--results", hostile.results]).output
    assert "\x1b" not in said and "\x07" not in said
    assert "\\x1b" in said


def test_printable_keeps_what_is_text() -> None:
    for text in ("plain", "α₀ = 0,1 → 3 µs\n\tnext", "日本語", "👩\u200d🔬"):
        assert printable(text) == text
    assert printable("a\x1b[0m\x9b\u202e\udcff\r") == "a\\x1b[0m\\x9b\\u202e\\udcff\\r"


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "weights/../../x-0123456789ab.parquet", "weights/a/b-0123456789ab.parquet"]
)
def test_a_row_cannot_name_a_file_outside_the_weights(hostile: Store, path: str) -> None:
    with pytest.raises(ResultsError, match="foreign: its name is not that of a weights file"):
        read_pictures(open_files(hostile.results), path)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\0b", "x" * 200])
def test_a_pack_cannot_be_named_out_of_its_folder(hostile: Store, name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a file"):
        hostile.commit(name, rows(5, 1))


def _placed(store: Store, where: str, table: pa.Table, metadata: dict[bytes, bytes] | None = None) -> None:
    path = Path(store.results, where)
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def _not_utf8(n: int) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), n, pa.array([b"\xff\xfe"] * n, pa.binary()).buffers())


def _rows_table() -> pa.Table:
    return table_of([{"pack_id": "x", **one} for one in rows(20, 2)])


def _plan_not_utf8() -> pa.Table:
    times = pa.array([0, 0], pa.timestamp("us", tz="UTC"))
    return pa.table({"sweep": _not_utf8(2), "cell_id": ["a", "b"], "planned_at": times, "whole": [True, True]})


ROWS_OF_A_BOMB = 500_000
"""All equal: a file of some 100 kB."""

HOSTILE = {
    "covers is a mapping": ("compacted/c.parquet", _rows_table, {b"covers": b'{"a": 1}'}),
    "covers holds numbers": ("compacted/c.parquet", _rows_table, {b"covers": b"[1, [2]]"}),
    "covers is no JSON": ("compacted/c.parquet", _rows_table, {b"covers": b"\xff"}),
    "covers is nested deep": ("compacted/c.parquet", _rows_table, {b"covers": b"[" * 100_000}),
    "its name is a pattern": ("packs/*.parquet", _rows_table, None),
    "its name is a pattern of letters": ("packs/[a-z]-0.parquet", _rows_table, None),
    "its name holds an escape": ("packs/\x1b[2J.parquet", _rows_table, None),
    "a column that readers add": ("packs/c.parquet", lambda: _rows_table().append_column("_row", pa.array(["a", "b"])), None),
    "another": ("packs/c.parquet", lambda: _rows_table().append_column("File_Row_Number", pa.array([1, 2])), None),
    "a text that is no UTF-8": (
        "packs/c.parquet", lambda: _rows_table().drop_columns("reason").append_column("reason", _not_utf8(2)), None,
    ),
    "a plan that is no UTF-8": ("plans/c.parquet", _plan_not_utf8, None),
    "a bomb": ("packs/c.parquet", lambda: _rows_table().take(pa.array([0] * ROWS_OF_A_BOMB)), None),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_left_out_and_named(tmp_path: Path, what: str) -> None:
    where, table, metadata = HOSTILE[what]
    store = Store(str(tmp_path / "results"))
    store.commit("p", rows(0, 3))
    store.write_plan("eq3", [f"{i:020x}" for i in range(5)])
    _placed(store, where, table(), metadata)
    assert len(fetch(store.results, "FROM cells")) == 3  # all columns: DuckDB looks at no text that it need not read
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert len(fetch(store.results, "FROM plans")) == 5
    assert summarise(store.files).cells["ok"] == 3
    assert where in check(store.files).bad
    compact(store.files)
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]


def test_links_in_circles_are_no_files(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("p", rows(0, 3))
    Path(store.results, "packs", "loop.parquet").symlink_to("loop.parquet")
    Path(store.results, "plans").symlink_to("plans")
    assert fetch(store.results, "SELECT count(*) FROM cells") == [(3,)]
    assert summarise(store.files).sweeps == []


@pytest.mark.parametrize("text", ["[" * 100_000, '{"host": 1, "pid": -1, "started": 2, "cell_ids": 7}', "\xff"])
def test_what_is_no_lease_is_named(tmp_path: Path, text: str) -> None:
    store = Store(str(tmp_path / "results"))
    store.commit("p", rows(0, 3))
    Path(store.results, "leases").mkdir()
    Path(store.results, "leases", "x.json").write_text(text, encoding="latin-1")
    assert summarise(store.files).drivers == []
    assert check(store.files).bad == {"leases/x.json": "not a lease"}


@pytest.mark.parametrize("results", ["res*", "res[1]", "res?", "new\nline", "\udcff"])
def test_results_that_duckdb_would_take_for_a_pattern_are_refused(tmp_path: Path, results: str) -> None:
    with pytest.raises(ResultsError, match="from which DuckDB cannot read; choose another name"):
        open_files(str(tmp_path / results))


@pytest.mark.parametrize(
    "function", ["enable_logging(storage := 'file', storage_path := '{out}')", "enable_profiling(save_location := '{out}.txt')"]
)
@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_query_cannot_have_duckdb_write_a_log(hostile: Store, tmp_path: Path, function: str, form: str) -> None:
    sql = "FROM " + function.replace("{out}", str(tmp_path / "out"))
    done = CliRunner().invoke(analysis.query.app, [sql, "--format", form, "--results", hostile.results])
    assert (done.exit_code, "the configuration has been locked" in done.stderr) == (2, True)
    assert not list(tmp_path.glob("out*"))


def test_a_query_of_bytes_is_refused_with_a_word(hostile: Store) -> None:
    done = CliRunner().invoke(analysis.query.app, ["SELECT '\udcff'", "--results", hostile.results])
    assert (done.exit_code, "its character 9 is a byte that is not UTF-8" in done.stderr) == (2, True)
