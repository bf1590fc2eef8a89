"""SQL from users who may type anything: it reads the store and nothing else, in a process of its own that stops in time.

A single value may take all memory of a machine, and DuckDB neither counts this memory nor can be interrupted while it makes the
value. So the system limits the process of the query, `python -m analysis.sql.guarded`. One such process waits, warm, for the next
query.
"""

import atexit
import io
import json
import os
import resource
import signal
import sys
import threading
from bisect import bisect_right
from contextlib import suppress
from csv import writer
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from analysis.data.source import ResultsError, existing
from analysis.sql.statements import Bound, bound, in_own_words
from sweepkit.console.child import Asker, Child
from sweepkit.console.commands import command
from sweepkit.store.database import fenced
from sweepkit.store.files import open_files
from sweepkit.store.views import run

if TYPE_CHECKING:
    import pandas as pd

MEMORY_GB = 1.0
"""Memory that DuckDB may take by its own account."""
BESIDES_GB = 1.0
"""Memory that the process may take besides: for values that DuckDB does not count, and for the answer. Both together limit its
address space."""
THREADS = 2
MAX_BYTES = 100 << 20
"""Largest answer as Arrow arrays, however few its rows are, and largest file."""
MAX_COLUMNS, MAX_NAME, MAX_MESSAGE = 2000, 1000, 5000
"""Most columns of an answer, most characters of a column's name, and most characters of an error that are shown."""
FILE_ROWS, FILE_TIMEOUT_S = 1_000_000, 60.0
"""Most rows of a file, and the time for it."""
START_S = 30.0
"""Time in which the process must have started; a query's own time begins after that."""
FREELY = f"`{command('query')}` has no such limit"

_PLAIN = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")} | {
    "BOOLEAN", "INTEGER", "UINTEGER", "HUGEINT", "FLOAT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS",
}  # fmt: skip
"""Types that are shown as they are, as DECIMAL is too; values of other types become DuckDB's text for them."""
_NOT_IN_PARQUET = ("INTERVAL", "UNION", "BIT", "UHUGEINT", "BIGNUM", "VARIANT", "TIME ZONE", "NULL")


@dataclass(frozen=True)
class Answer:
    """Columns with their DuckDB types, and rows. `truncated`: there are more rows than were asked for or are allowed. `cut`: some
    values are longer than shown here."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool
    cut: bool = False

    @property
    def frame(self) -> "pd.DataFrame":
        """The answer as a DataFrame."""
        import pandas as pd

        return pd.DataFrame.from_records(self.rows, columns=self.columns)


@dataclass(frozen=True)
class Request:
    """A question for the process. Form `rows` is for people, `csv` and `parquet` are files; a `max_chars` of 0 means no limit."""

    results: str
    sql: str
    form: str
    timeout_s: float
    max_rows: int
    memory_gb: float
    max_bytes: int
    max_chars: int = 0


def guarded_query(
    results: str,
    sql: str,
    timeout_s: float = 10.0,
    max_rows: int = 10_000,
    memory_gb: float = MEMORY_GB,
    max_chars: int = 0,
    max_bytes: int | None = None,
) -> Answer:
    """The answer to one reading statement over the views; values other than numbers, times and booleans are texts.

    ResultsError if the text is no such statement, opens other files, takes longer than `timeout_s` or more than `memory_gb`;
    other errors of the query are duckdb.Error with DuckDB's message, which points into `sql`.
    """
    limit = MAX_BYTES if max_bytes is None else max_bytes
    head, data = _asked(Request(_root(results), sql, "rows", timeout_s, max_rows, memory_gb, limit, max_chars))
    columns = [column.to_pylist() for column in pa.ipc.open_stream(data).read_all().columns]
    return Answer(head["columns"], head["types"], list(zip(*columns, strict=True)), head["truncated"], head["cut"])


def answer_bytes(results: str, sql: str, form: str) -> bytes:
    """The whole answer, within the limits of a file, as `csv` or `parquet`. Errors as in `guarded_query`."""
    return _asked(Request(_root(results), sql, form, FILE_TIMEOUT_S, FILE_ROWS, MEMORY_GB, MAX_BYTES))[1]


def _root(results: str) -> str:
    return existing(results).root


# In the process of the caller


class _Worker:
    """A process for one query, on any results. It opens `results` beforehand, and ends when this process does."""

    def __init__(self, results: str) -> None:
        self.child = Child(["-m", "analysis.sql.guarded", results])
        self.is_late = False
        """It was ended because it did not even stop itself."""

    def ask(self, request: Request) -> tuple[bytes, bytes]:
        """The head and the data of its answer. EOFError if it ended before."""
        alarm = threading.Timer(START_S + request.timeout_s, self._end)
        alarm.start()
        try:
            with suppress(BrokenPipeError):
                self.child.ask(json.dumps(asdict(request)).encode())
            return self.child.answer(), self.child.answer()
        finally:
            alarm.cancel()

    def _end(self) -> None:
        self.is_late = True
        self.child.process.kill()


_waiting: list[_Worker] = []
_waiting_lock = threading.Lock()


def _worker(results: str) -> _Worker:
    with _waiting_lock:
        found = _waiting.pop() if _waiting else None
    if found and found.child.process.poll() is None:
        return found
    if found:
        found.child.close()
    return _Worker(results)


def _have_one_wait(results: str) -> None:
    with _waiting_lock:
        if not _waiting:
            _waiting.append(_Worker(results))


@atexit.register
def close_waiting() -> None:
    """End the process that waits for a query; the next query starts one."""
    with _waiting_lock:
        while _waiting:
            _waiting.pop().child.close()


def _asked(request: Request) -> tuple[dict[str, Any], bytes]:
    """The head and the data of the process's answer. Errors as in `guarded_query`."""
    worker = _worker(request.results)
    try:
        answer, data = worker.ask(request)
    except EOFError:
        raise _ended(worker, request) from None
    finally:
        worker.child.close()
        _have_one_wait(request.results)
    head = json.loads(answer)
    if "error" in head:
        kind = getattr(duckdb, head["kind"], None)
        raise (kind if isinstance(kind, type) and issubclass(kind, duckdb.Error) else ResultsError)(head["error"])
    return head, data


def _ended(worker: _Worker, request: Request) -> ResultsError:
    """The error of a process that ended without an answer."""
    status = worker.child.process.wait()
    if worker.is_late or status == -signal.SIGALRM:
        return ResultsError(f"stopped after {request.timeout_s:g} s: ask for less, such as one sweep or fewer columns; {FREELY}")
    if status < 0:
        name = signal.Signals(-status).name
        return ResultsError(f"the query's process was ended ({name}), most likely because memory ran out: ask for less; {FREELY}")
    return ResultsError(f"the query's process failed with status {status}; the server's log says why")


# In the process of the query


def main() -> None:
    """Answer one request: the head in JSON, then the data."""
    asker = Asker(sys.argv[2])
    with suppress(ResultsError, duckdb.Error):  # reads all footers once; errors come again with the request
        run(open_files(sys.argv[1]), lambda connection: None, opener=fenced)
    try:
        request = Request(**json.loads(asker.question()))
    except EOFError:  # the asking process has ended
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the alarm ends the process, whatever it does
    signal.setitimer(signal.ITIMER_REAL, request.timeout_s)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
    limit = taken + int((request.memory_gb + BESIDES_GB) * (1 << 30))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        head, data = answered(request)
    except (ResultsError, duckdb.Error) as error:
        said = str(error)
        said = said if len(said) <= MAX_MESSAGE else said[:MAX_MESSAGE] + " ..."
        head, data = {"kind": type(error).__name__, "error": said}, b""
    asker.answer(json.dumps(head).encode())
    asker.answer(data)
    os._exit(0)  # without clean-up, which may fail where memory is short


def answered(request: Request) -> tuple[dict[str, Any], bytes]:
    """The head (names, types, limits reached) and the data, computed in this process: here neither time nor uncounted memory is
    limited."""
    as_text = partial(_as_text, form=request.form)

    def work(connection: duckdb.DuckDBPyConnection) -> "tuple[Bound, _Fetched]":
        found = bound(connection, request.sql, request.max_rows + 1, as_text)
        _check_columns(found.columns)
        return found, _fetched(connection, found, request)

    try:
        opener = partial(fenced, memory_gb=request.memory_gb, threads=THREADS)
        found, (table, truncated, cut) = run(existing(request.results), work, opener=opener)
        head = {"columns": found.columns, "types": [kind[:MAX_NAME] for kind in found.types], "truncated": truncated, "cut": cut}
        return head, _FORMS[request.form](table, request.max_bytes)
    except duckdb.PermissionException as error:
        raise ResultsError(f"only the results can be read here, by the views cells, curves, neurons, plans: {error}") from None
    except (duckdb.OutOfMemoryException, MemoryError):
        raise ResultsError(f"the query needs more than {request.memory_gb:g} GB: ask for less, or aggregate; {FREELY}") from None


def _as_text(kind: str, form: str) -> bool:
    if form == "parquet":
        return any(word in kind for word in _NOT_IN_PARQUET)
    return kind not in _PLAIN and not (kind.startswith("DECIMAL(") and kind.endswith(")"))


def _check_columns(names: list[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise ResultsError(f"the answer has {len(names):,} columns, and {MAX_COLUMNS:,} are the most: choose fewer; {FREELY}")
    if any(len(name) > MAX_NAME for name in names):
        raise ResultsError(f"the name of a column has more than {MAX_NAME:,} characters: give it another by AS; {FREELY}")


_KINDS = {
    "IO Error": duckdb.IOException,
    "Invalid Input Error": duckdb.InvalidInputException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Permission Error": duckdb.PermissionException,
}
"""Errors that are told apart, by the words that begin their message."""


class _Fetched(NamedTuple):
    table: pa.Table
    truncated: bool
    cut: bool


def _fetched(connection: duckdb.DuckDBPyConnection, found: Bound, request: Request) -> _Fetched:
    try:
        with connection.sql(found.sql).to_arrow_reader(2048) as reader:
            return _within_limits(reader, request)
    except duckdb.Error as error:
        raise in_own_words(error) from None
    except OSError as error:  # pyarrow's name for an error after the first rows
        kind = next((kind for words, kind in _KINDS.items() if str(error).startswith(words)), duckdb.Error)
        raise in_own_words(kind(str(error))) from None


def _within_limits(reader: pa.RecordBatchReader, request: Request) -> _Fetched:
    taken: list[pa.RecordBatch] = []
    n_rows, n_bytes, cut = 0, 0, False
    schema = reader.schema
    for whole in reader:
        batch, was_cut = _cut(whole, request.max_chars)
        schema, cut = batch.schema, cut or was_cut
        fitting = bisect_right(range(len(batch) + 1), request.max_bytes - n_bytes, key=lambda n: batch.slice(0, n).nbytes) - 1
        if fitting < 1 and not n_rows and len(batch):
            size = f"{request.max_bytes / (1 << 20):g} MB"
            raise ResultsError(f"one row alone has more than {size}: choose fewer columns or shorter values; {FREELY}")
        kept = batch.slice(0, min(fitting, request.max_rows - n_rows))
        taken.append(kept)
        n_rows, n_bytes = n_rows + len(kept), n_bytes + kept.nbytes
        if len(kept) < len(batch):
            return _Fetched(pa.Table.from_batches(taken, schema), True, cut)
    return _Fetched(pa.Table.from_batches(taken, schema), False, cut)


def _cut(batch: pa.RecordBatch, max_chars: int) -> tuple[pa.RecordBatch, bool]:
    columns = batch.columns
    long = [
        i
        for i, column in enumerate(columns if max_chars else [])
        if pa.types.is_string(column.type) and (pc.max(pc.utf8_length(column)).as_py() or 0) > max_chars
    ]
    for i in long:
        columns[i] = pc.utf8_slice_codeunits(columns[i], 0, max_chars)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema), bool(long)


def _rows_bytes(table: pa.Table, max_bytes: int) -> bytes:
    shown = pa.table([_showable(column) for column in table.columns], names=table.column_names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, shown.schema) as stream:
        stream.write_table(shown)
    return sink.getvalue().to_pybytes()


def _showable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in values that Python has: whole decimals as integers, or as text if too large; other days and times as text."""
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            return column.cast(pa.string())
    if pa.types.is_temporal(column.type):
        try:
            column.to_pylist()
        except (OverflowError, ValueError):
            return column.cast(pa.string())
    return column


def _csv_bytes(table: pa.Table, max_bytes: int) -> bytes:
    import pyarrow.csv

    names = io.StringIO()
    writer(names, lineterminator="\n").writerow(table.column_names)
    lines = [names.getvalue().encode()]
    room = max_bytes - len(lines[0])
    for batch in table.to_batches(max_chunksize=256):
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(batch, sink, pyarrow.csv.WriteOptions(include_header=False))
        piece = sink.getvalue().to_pybytes()
        room -= len(piece)
        if room < 0:
            break
        lines.append(piece)
    return b"".join(lines)


def _parquet_bytes(table: pa.Table, max_bytes: int) -> bytes:
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue().to_pybytes()


_FORMS = {"rows": _rows_bytes, "csv": _csv_bytes, "parquet": _parquet_bytes}


if __name__ == "__main__":
    main()
