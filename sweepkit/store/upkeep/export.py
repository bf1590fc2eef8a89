"""The views' data as files for other tools: one DuckDB database, and one CSV per view. No file is ever incomplete."""

import os
from contextlib import suppress
from pathlib import Path

import duckdb

from sweepkit.console.writing import make_folder, share, sync
from sweepkit.store.database import connect_to
from sweepkit.store.files import Files, ResultsError, temporary
from sweepkit.store.sql import literal
from sweepkit.store.views import VIEWS, run

ORDER = {
    "cells": "cell_id",
    "curves": "cell_id, step",
    "neurons": "cell_id, neuron",
    "spectra": "cell_id, eigenfunction",
    "outputs": "cell_id, example",
    "plans": "sweep, cell_id",
    "sweeps": "sweep",
}


def export(files: Files, out: Path, csv: bool = True) -> dict[Path, int]:
    """Write `results.duckdb` and <view>.csv into the directory `out`, replacing files of these names.

    Returns the number of rows by file (of all tables, for the database).
    """
    try:
        make_folder(out)
        return run(files, lambda connection: _export(connection, out, csv), opener=connect_to)
    except OSError as error:
        raise ResultsError(f"cannot export to {out}: {error.strerror}") from None
    except duckdb.Error as error:
        raise ResultsError(f"cannot export to {out}: {error}") from None


def _export(connection: duckdb.DuckDBPyConnection, out: Path, csv: bool) -> dict[Path, int]:
    finals = [out / "results.duckdb", *(out / f"{view}.csv" for view in VIEWS if csv)]
    asides = {final: final.with_name(temporary(final.name)) for final in finals}
    try:
        database = asides[finals[0]].absolute()  # of `sqlite:x/results.duckdb` DuckDB takes the beginning for a kind of database
        connection.execute(f"ATTACH {literal(str(database))} AS exported (TYPE duckdb)")
        for view in VIEWS:
            connection.execute(f"CREATE TABLE exported.{view} AS FROM {view} ORDER BY {ORDER[view]}")
        rows = {view: _count(connection, view) for view in VIEWS}
        for view in VIEWS if csv else ():
            connection.execute(f"COPY exported.{view} TO {literal(str(asides[out / f'{view}.csv']))} (FORMAT csv, HEADER)")
        connection.execute("DETACH exported")  # writes out the log, so that one file holds everything
        for aside in asides.values():
            with open(aside, "rb") as written:
                share(written.fileno(), out)
                sync(written.fileno())
        for final, aside in asides.items():
            os.replace(aside, final)
    finally:
        for aside in asides.values():
            for leftover in (aside, aside.with_name(f"{aside.name}.wal")):
                with suppress(OSError):
                    leftover.unlink(missing_ok=True)
    return {finals[0]: sum(rows.values()), **{out / f"{view}.csv": rows[view] for view in VIEWS if csv}}


def _count(connection: duckdb.DuckDBPyConnection, view: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM exported.{view}").fetchone()
    return int(row[0]) if row else 0
