"""A DuckDB database with the views over the files of one snapshot: `cells`, `curves`, `plans` and so on, and those below them.

`cells`, `curves` and `neurons` each show a single row of a cell, even if several files hold the cell. Not this module
but `sweepkit.store.views` checks whether files have changed since the snapshot.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from sweepkit.declarations.columns import FACTS, Column, Metric
from sweepkit.declarations.keys import FIRST_NETWORK, FIRST_SAMPLER, FIRST_TRAINING
from sweepkit.store.columns import TYPES, column_of, is_list
from sweepkit.store.distinct import by_columns, forget_others, hashes, holding, repeated, scan
from sweepkit.store.files import Files
from sweepkit.store.files.base import LOGS
from sweepkit.store.schema import CURVES, DECLARED, HELD, NEURONS, PLAN_SCHEMA, PLANNED_FIND, SCHEMA, STATUSES
from sweepkit.store.snapshot import LiveFile, Snapshot, declarations, defaults
from sweepkit.store.sql import in_quotes, literal

RANK = "CASE status " + " ".join(f"WHEN '{name}' THEN {i}" for i, name in enumerate(STATUSES)) + f" ELSE {len(STATUSES)} END"
_LAST = "finished_at DESC NULLS LAST, pack_id, _file, _row"
_KEEPS = "weights_file IS NOT NULL DESC"
_MEASURED = "coalesce(len(measured), 0) DESC"
BEST = f"{RANK}, {_MEASURED}, holds_neurons DESC, holds_curves DESC, {_KEEPS}, {_LAST}"
"""Order among the rows of one cell: the first row is the cell's. A newer row wins only if it holds no less."""
BEST_NEURONS = f"{RANK}, holds_neurons DESC, holds_curves DESC, {_KEEPS}, {_MEASURED}, {_LAST}"
"""The order that picks the row for `neurons`, in case the cell's row holds more metrics but no neurons."""
BEST_CURVE = f"{RANK}, holds_curves DESC, {_MEASURED}, holds_neurons DESC, {_KEEPS}, {_LAST}"
"""The order that picks the row for `curves`. Metrics on request may be among its curves."""
BEST_WEIGHTS = f"{RANK}, {_KEEPS}, holds_neurons DESC, holds_curves DESC, {_MEASURED}, {_LAST}"
"""The order that picks the row for `internal.weights`."""
ORDERS = {"best": BEST, "best_neurons": BEST_NEURONS, "best_curve": BEST_CURVE, "best_weights": BEST_WEIGHTS}
"""Each order, by the name of the view in `internal` that shows the first row of each cell. Compaction keeps all of these rows."""
CHOSEN = " OR ".join(f"row_number() OVER (PARTITION BY cell_id ORDER BY {order}) = 1" for order in ORDERS.values())
"""SQL that is true of the rows that are the first of their cell in one of ORDERS."""

_SQL = {
    pa.string(): "VARCHAR", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.float32(): "REAL", pa.bool_(): "BOOLEAN",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}  # fmt: skip

_SETTINGS = (
    "SET TimeZone = 'UTC'; SET parquet_metadata_cache = true; SET python_enable_replacements = false; "
    "SET enable_external_file_cache = false"
)
"""Settings of every connection. DuckDB caches no file contents, because the operating system does so already."""

_OF_OLD_ROWS = {
    "training": f"CASE WHEN kappa IS NOT NULL THEN {literal(FIRST_SAMPLER)} ELSE {literal(FIRST_TRAINING)} END",
    "network": literal(FIRST_NETWORK),
}
"""SQL for the name of a cell's training or network in rows that name none: old ones, and those of their task's own network."""

_LOG = f"""CASE WHEN regexp_matches(log_path, '(^|/){LOGS}/[^/]+$')
    THEN {{folder}} || regexp_extract(log_path, '[^/]+$') ELSE log_path END"""
"""SQL for the path of a log below `folder`: results may be moved, and rows of older versions hold the path of that time."""

_SWITCHED_OFF = ("partial_aggregate_pushdown", "statistics_propagation")
"""Steps of DuckDB 2.0's optimiser that are switched off. The first aggregates both sides of a join by cell before it joins them,
which takes 2.5 times as long if each side has a cell once. The second fails, "BindBuiltinScalarFunction did not return a
BoundFunctionExpression", at a query that selects rows by a text which is filled in where a row has none."""

Opener = Callable[[Files, Snapshot], duckdb.DuckDBPyConnection]


def configure(connection: duckdb.DuckDBPyConnection) -> None:
    """Apply our settings, which belong to a connection and not to the database. There is no progress bar."""
    connection.execute(_SETTINGS)
    # In a notebook without ipywidgets it is off, and DuckDB then refuses to be told so.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")


def rows_of(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A database with no views but `internal.rows`: all rows of the files, with _file and _row. A cell may have several rows."""
    connection = duckdb.connect()
    configure(connection)
    connection.execute("CREATE SCHEMA internal")
    known = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    off = ",".join(name for name in _SWITCHED_OFF if name in known)
    connection.execute(f"SET disabled_optimizers = '{off}'")  # holds for all connections to the database
    for name, schema in (("rows", SCHEMA), ("plans", PLAN_SCHEMA.append(PLANNED_FIND))):
        columns = ", ".join(f'"{field.name}" {_sql(field.type)}' for field in schema)
        connection.execute(f"CREATE TABLE internal.no_{name} ({columns}, _file VARCHAR, _row BIGINT)")
    _union(connection, "rows", "rows", [scan(files, group) for group in by_columns(snapshot.rows)])
    return connection


def connect_to(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A connection with the views over the files of this snapshot. The hashes of other files are dropped."""
    forget_others(files, (*snapshot.rows, *snapshot.plans))
    return _views_over(files, snapshot, snapshot.rows)


def _views_over(files: Files, snapshot: Snapshot, described: Sequence[LiveFile]) -> duckdb.DuckDBPyConnection:
    """The views over the files of the snapshot. Declarations and defaults are taken from the files `described`."""
    connection = rows_of(files, snapshot)
    _tell(connection, snapshot.plans)
    _hide(connection, files, snapshot.rows)
    further = [column for file in dict.fromkeys(file.further for file in snapshot.rows) for column in file]
    curves = _lists("evaluation", further)
    neurons = _lists("neuron", further)
    plans, searches = _plans(connection, files, snapshot.plans)
    connection.execute(f"""
        CREATE VIEW cells AS {_cells(files, snapshot.rows, described)};
        CREATE VIEW curves AS SELECT cell_id, {_unnested(curves)} FROM internal.best_curve;
        CREATE VIEW neurons AS
            SELECT cell_id, unnest(range({_longest(neurons)})) AS neuron, {_unnested(neurons)} FROM internal.best_neurons;
        CREATE VIEW spectra AS {_listed("eigenfunction", further)};
        CREATE VIEW outputs AS {_listed("example", further)};
        CREATE VIEW internal.weights AS
            SELECT cell_id, weights_file FROM internal.best_weights WHERE weights_file IS NOT NULL;
        CREATE VIEW plans AS {plans};
        CREATE VIEW internal.searches AS {searches};
        CREATE VIEW sweeps AS
            SELECT sweep, networks, asked_at, nullif(note, '') AS note, tags, command, grid
            FROM (SELECT sweep, count(*) AS networks FROM plans GROUP BY sweep) LEFT JOIN internal.sweeps USING (sweep);
        CREATE TABLE internal.declarations (name VARCHAR, declaration VARCHAR);
    """)
    whole = "CREATE TABLE internal.never_whole AS SELECT unnest(?::VARCHAR[]) AS sweep"
    connection.execute(whole, [_never_whole(snapshot.plans)])
    told = [[name, one.described()] for name, one in declarations(described).items() if name not in DECLARED]
    if told:
        connection.executemany("INSERT INTO internal.declarations VALUES (?, ?)", told)
    return connection


def _cells(files: Files, live: Sequence[LiveFile], described: Sequence[LiveFile]) -> str:
    """SQL of the view `cells`: all columns with one value per cell. Missing keys get the defaults declared in the files
    `described`."""
    lists = [column_of(column) for file in dict.fromkeys(file.further for file in live) for column in file if is_list(column)]
    hidden = [*CURVES, *NEURONS, *HELD, "weights_file", "_file", "_row", *dict.fromkeys(lists)]
    # Times as plain timestamps: fetching one with a time zone needs pytz, which DuckDB does not bring.
    shown = {fact.name: f"{fact.name} AT TIME ZONE 'UTC'" for fact in FACTS.values() if fact.kind == "time"}
    shown |= {part: _name_of(part) for part in _OF_OLD_ROWS}
    shown["log_path"] = _LOG.format(folder=literal(f"{files.root.rstrip('/')}/{LOGS}/"))
    if filled := defaults(described):
        there = {name for columns in {file.columns for file in live} for name, _ in columns}
        known = declarations(described)
        shown |= {name: _filled(known[name], by_part) for name, by_part in filled.items() if name in there}
    replaced = ", ".join(f"{sql} AS {in_quotes(name)}" for name, sql in shown.items())
    return f"SELECT * EXCLUDE ({', '.join(map(in_quotes, hidden))}) REPLACE ({replaced}) FROM internal.best"


def _filled(key: Column, by_part: Mapping[str, Mapping[str, Any]]) -> str:
    """SQL for a key's value, or for its default if a row has none. `by_part`: the defaults by part and by the part's name."""
    kind = _SQL[TYPES[key.kind]]
    cases = [
        f"WHEN {_name_of(part)} = {literal(of)} THEN CAST({literal(default)} AS {kind})"
        for part, values in by_part.items()
        for of, default in values.items()
    ]
    return f"CASE WHEN {in_quotes(key.name)} IS NOT NULL THEN {in_quotes(key.name)} {' '.join(cases)} END"


def _name_of(part: str) -> str:
    """SQL for the name of a cell's task, network or training."""
    return f"coalesce({part}, {_OF_OLD_ROWS[part]})" if part in _OF_OLD_ROWS else part


def _lists(per: str, further: Iterable[Column]) -> dict[str, str]:
    """The quoted list columns of the metrics that have one value per `per`, by the metric's name."""
    declared = (*DECLARED.values(), *further)
    return {one.name: in_quotes(column_of(one)) for one in declared if isinstance(one, Metric) and one.per == per}


def _listed(per: str, further: Iterable[Column]) -> str:
    """SQL of the view of the metrics per eigenfunction or per example, counted from 1; empty if no file has one."""
    lists = _lists(per, further)
    if not lists:
        return f"SELECT cell_id, NULL::BIGINT AS {per} FROM internal.no_rows WHERE false"
    return f"SELECT cell_id, unnest(range(1, {_longest(lists)} + 1)) AS {per}, {_unnested(lists)} FROM internal.best"


def _longest(lists: Mapping[str, str]) -> str:
    return f"greatest({', '.join(f'len({column})' for column in lists.values())})"


def _unnested(lists: Mapping[str, str]) -> str:
    return ", ".join(f"unnest({column}) AS {in_quotes(name)}" for name, column in lists.items())


def locked(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
    """A connection with the views and with locked settings, so that no query can have DuckDB log or profile into a file."""
    connection = connect_to(files, snapshot)
    connection.execute("SET lock_configuration = true")
    return connection


def fenced(files: Files, snapshot: Snapshot, memory_gb: float = 1.0, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A connection for SQL written by strangers: it can open only these files, change no setting, and spill nothing to disk.

    It does not refuse to write to these very files: the caller must refuse every statement that writes.
    """
    connection = connect_to(files, snapshot)
    live = [files.address(file.entry) for file in (*snapshot.rows, *snapshot.plans)]
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, live))}]")
    connection.execute(f"""
        SET threads = {threads}; SET memory_limit = '{memory_gb}GB'; SET temp_directory = '';
        SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
        SET allow_community_extensions = false; SET enable_external_access = false; SET lock_configuration = true""")
    return connection


def _hide(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> None:
    """Create the views of ORDERS in `internal`, each with one row per cell, for `cells`, `neurons`, `curves` and the weights.

    Choosing a row takes a window over ids and ranks, so it is done once and only for cells that have several rows. A file without
    rows to hide is then read as it is; the other files are read without the rows that `internal.hidden` lists.
    """
    twice, where = repeated(hashes(connection, files, live))
    if where:
        scans = [scan(files, group) for group in by_columns([live[i] for i in where])]
        _union(connection, "several", "rows", scans)
        connection.register("twice", pa.table({"hash": twice}))
        later = [f"row_number() OVER (PARTITION BY cell_id ORDER BY {order}) > 1 AS {name}" for name, order in ORDERS.items()]
        connection.execute(f"""
            CREATE TABLE internal.hidden AS FROM (
                SELECT _file, _row, {", ".join(later)}
                FROM internal.several WHERE hash(cell_id) IN (SELECT hash FROM twice))
            WHERE {" OR ".join(ORDERS)}""")
        connection.unregister("twice")
    for name in ORDERS:
        found = connection.execute(f"SELECT DISTINCT _file FROM internal.hidden WHERE {name}").fetchall() if where else []
        if not found:
            connection.execute(f"CREATE VIEW internal.{name} AS FROM internal.rows")
            continue
        partly = {path for (path,) in found}
        scans = []
        for group in by_columns(live):
            clean = [file for file in group if files.address(file.entry) not in partly]
            rest = [file for file in group if files.address(file.entry) in partly]
            scans += [scan(files, clean)] if clean else []
            hidden = f"(SELECT _file, _row FROM internal.hidden WHERE {name})"
            scans += [f"({scan(files, rest)} ANTI JOIN {hidden} USING (_file, _row))"] if rest else []
        _union(connection, name, "rows", scans)


def _plans(connection: duckdb.DuckDBPyConnection, files: Files, live: Sequence[LiveFile]) -> tuple[str, str]:
    """SQL for the cells that each sweep asks for, each cell once, and for those that a search may ask for, with its question:
    those of the sweep's last whole grid and of the requests since then."""
    live = [file for file in live if file.n_rows]
    if not all(file.request for file in live):  # some file was not written by write_plan
        _union(connection, "plans", "plans", [scan(files, group) for group in by_columns(live)])
        latest = """FROM (SELECT * FROM internal.plans
            QUALIFY planned_at >= coalesce(max(planned_at) FILTER (whole) OVER (PARTITION BY sweep), planned_at))"""
        return f"SELECT DISTINCT sweep, cell_id {latest}", f"SELECT DISTINCT sweep, cell_id, find {latest} WHERE find IS NOT NULL"
    sweeps: dict[str, list[LiveFile]] = {}
    since: dict[str, int] = {}
    for file in live:
        assert file.request
        sweep, planned_at, whole = file.request
        sweeps.setdefault(sweep, []).append(file)
        if whole:
            since[sweep] = max(planned_at, since.get(sweep, planned_at))
    once: list[LiveFile] = []
    several: list[LiveFile] = []
    for sweep, requests in sweeps.items():
        recent = [
            file for file in requests if file.request and file.request.planned_at >= since.get(sweep, file.request.planned_at)
        ]
        (several if repeated(hashes(connection, files, recent))[1] else once).extend(recent)
    plans = ["SELECT sweep, cell_id FROM internal.no_plans"]
    plans += [f"SELECT sweep, cell_id FROM {scan(files, group)}" for group in by_columns(once)]
    if several:  # of one sweep in files of different columns, too: some of its requests searched
        united = " UNION ALL ".join(f"SELECT sweep, cell_id FROM {scan(files, group)}" for group in by_columns(several))
        plans += [f"SELECT DISTINCT sweep, cell_id FROM ({united})"]
    searching = [file for file in (*once, *several) if PLANNED_FIND.name in dict(file.columns)]
    searches = ["SELECT sweep, cell_id, find FROM internal.no_plans"]
    searches += [
        f"SELECT sweep, cell_id, find FROM {scan(files, group)} WHERE find IS NOT NULL" for group in by_columns(searching)
    ]
    return " UNION ALL ".join(plans), " UNION ".join(searches)


def _tell(connection: duckdb.DuckDBPyConnection, live: Sequence[LiveFile]) -> None:
    """Create the table internal.sweeps: of each sweep the time of its last plan, its notes, and its grid: that of the last whole
    plan, else of the last one, that has one."""
    notes = {file.sweep: file.notes for file in sorted(live, key=lambda file: file.told_at) if file.notes}
    plans: dict[str, list[LiveFile]] = {}
    for file in live:
        if file.request:
            plans.setdefault(file.sweep, []).append(file)
    rows = []
    for sweep, files in plans.items():
        by_time = sorted(files, key=lambda file: (bool(file.asked.grid), bool(file.request and file.request.whole), file.told_at))
        said, asked = notes.get(sweep), by_time[-1].asked
        at = max(file.told_at for file in files)
        rows.append((sweep, at, said and said.note, list(said.tags) if said else [], asked.command or None, asked.grid or None))
    kinds = (pa.string(), pa.int64(), pa.string(), pa.list_(pa.string()), pa.string(), pa.string())
    names = ("sweep", "since", "note", "tags", "command", "grid")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    connection.register("told", pa.table(arrays, names=names))
    connection.execute("CREATE TABLE internal.sweeps AS SELECT * EXCLUDE (since), make_timestamp(since) AS asked_at FROM told")
    connection.unregister("told")


def _never_whole(live: Sequence[LiveFile]) -> list[str]:
    """The sweeps without a request for a whole grid; none if some file does not say what was asked for."""
    requests = [file.request for file in live if file.n_rows]
    if None in requests:  # no command writes such a file; nothing is known of its sweeps
        return []
    return sorted({one.sweep for one in requests if one} - {one.sweep for one in requests if one and one.whole})


def _union(connection: duckdb.DuckDBPyConnection, name: str, kind: str, scans: Sequence[str]) -> None:
    """Create the view internal.<name> over the scans. It has the columns of the schema even if no scan has them."""
    united = " UNION ALL BY NAME ".join(f"SELECT * FROM {part}" for part in (f"internal.no_{kind}", *scans))
    connection.execute(f"CREATE VIEW internal.{name} AS {united}")


def _sql(kind: pa.DataType) -> str:
    return f"{_sql(kind.value_type)}[]" if pa.types.is_list(kind) else _SQL[kind]


def of_cells(cell_ids: Iterable[str]) -> Opener:
    """An opener for `run` that reads only the files with rows of these cells: for questions about few among many files.

    The views then have only the further columns of these files.
    """
    ids = list(cell_ids)

    def opener(files: Files, snapshot: Snapshot) -> duckdb.DuckDBPyConnection:
        with duckdb.connect() as connection:
            found = hashes(connection, files, snapshot.rows)
            wanted = connection.execute("SELECT hash(unnest(?::VARCHAR[])) AS hash", [ids]).fetchnumpy()["hash"]
        near = tuple(snapshot.rows[i] for i in holding(found, np.asarray(wanted)))
        return _views_over(files, replace(snapshot, rows=near), snapshot.rows)

    return opener
