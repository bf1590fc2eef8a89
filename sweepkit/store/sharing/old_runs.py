"""Old runs, a user's own or a tracker's, as networks of a store: a table, and a map of its columns to keys and metrics.

They keep an origin of their own: engine `imported`, and ids that no network of a grid can have, so that a sweep never takes one
for trained and a verdict never rests on one.
"""

import csv
import hashlib
import json
import math
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Literal

import duckdb
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sweepkit.console.words import counted, listed, nearest, pydantic_reason, show, shown
from sweepkit.console.yaml_lines import NotYamlError, read_yaml, written
from sweepkit.declarations.columns import IMPORTED, Column, Key, Kind, Metric
from sweepkit.declarations.metrics import METRICS
from sweepkit.declarations.synonyms import ELSEWHERE
from sweepkit.store.columns import column_of
from sweepkit.store.files import ResultsError
from sweepkit.store.schema import DECLARED, RESERVED, STATUSES
from sweepkit.store.sql import in_quotes, literal

MAPS = ("mlflow", "wandb")
"""Names of the maps that come with the project."""
TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet")
"""Ends of names of tables; a pickle has others."""
LAST = {
    "test_acc": "final_test_acc",
    "train_acc": "final_train_acc",
    "train_loss": "final_train_loss",
    "test_auc": "final_test_auc",
}
"""Metrics at each evaluation, and those that a table with one number a run means by these words."""
THEIRS = "their_"
"""Beginning of a name that a draft gives to a column whose own name the store needs."""
MOST = 2**63
"""Whole numbers are smaller than this."""
LAZY = 1e-5
"""gamma sqrt(d) of a lazy network."""
ROW_ID = "i"
"""First character of an imported network's id. Ids of trained ones have hexadecimal digits alone."""

Cell = Mapping[str, Any]
"""One row of the user's table."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Of(_Frozen):
    """The origin of one value: a column of the table, or one value for all runs. `words`: their words for ours."""

    column: str = ""
    value: Any = None
    words: dict[str, Any] = Field(default_factory=dict)
    scale: float = 1.0
    title: str = ""
    low: float = -math.inf
    high: float = math.inf


class Map(_Frozen):
    """The meaning of each column of a table of runs. Columns with the name of a key or a metric need not be named."""

    sweep: str = ""
    run: str = ""
    """The column that names a run, if its rows are evaluations."""
    prefixes: dict[str, Literal["key", "metric"]] = Field(default_factory=dict)
    """Beginnings of columns that say what these are; names go without them."""
    keys: dict[str, Of] = Field(default_factory=dict)
    metrics: dict[str, Of] = Field(default_factory=dict)
    curves: dict[str, Of] = Field(default_factory=dict)
    """Metrics at each evaluation, `step` among them: columns of lists, or with `run` columns of numbers."""
    status: Of | None = None
    ignore: list[str] = Field(default_factory=list)
    """Columns that are left out; `*` stands for any characters."""

    @field_validator("status", mode="before")
    @classmethod
    def _status_in_short(cls, told: Any) -> Any:
        return {"column": told} if isinstance(told, str) else told

    @field_validator("keys", "metrics", "curves", mode="before")
    @classmethod
    def _in_short(cls, told: Any) -> Any:
        """`L: n_symbols` is short for `L: {column: n_symbols}`."""
        return (
            {name: {"column": one} if isinstance(one, str) else one for name, one in told.items()}
            if isinstance(told, dict)
            else told
        )


def read_map(names: Sequence[str]) -> tuple[Map, str]:
    """The map in these files, or of these names; later ones add to earlier ones. Its text, too. ResultsError if one is wrong."""
    told: dict[str, Any] = {}
    for name in names:
        path = Path(str(resources("sweepkit.store.sharing") / "maps" / f"{name}.yaml")) if name in MAPS else Path(name)
        try:
            one = read_yaml(path)
        except NotYamlError as error:
            raise ResultsError(str(error)) from None
        except OSError as error:
            raise ResultsError(f"map {name}: {error.strerror}; name a file, or one of {listed(MAPS)}") from None
        if not isinstance(one, dict):
            raise ResultsError(f"{path}: a map has the keys {listed(Map.model_fields)}")
        for key, value in one.items():
            joins = isinstance(value, dict | list) and type(told.get(key)) is type(value) and key != "status"
            told[key] = (told[key] | value if isinstance(value, dict) else told[key] + value) if joins else value
    try:
        return Map.model_validate(told), written(told) if told else ""
    except ValidationError as error:
        raise ResultsError(f"{listed(names)}: {pydantic_reason(error)}; a map has the keys {listed(Map.model_fields)}") from None


class _Plain(pickle.Unpickler):
    """Reads records of plain values and of NumPy's numbers and arrays, and runs nothing else: a pickle can name any function."""

    ALLOWED = frozenset({("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}) | {
        (f"numpy.{core}.{module}", name)
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}")
        return super().find_class(module, name)


def read_table(path: Path) -> list[dict[str, Any]]:
    """The rows of a CSV, Parquet or pickle file. ResultsError if it cannot be read."""
    try:
        if path.suffix in (".pkl", ".pickle"):
            with path.open("rb") as source:
                return _records(_Plain(source).load())
        path.open("rb").close()
        if not path.name.lower().endswith(TABLES):
            raise ResultsError(f"{path}: a table is a file {listed(TABLES)}, .pkl or .pickle")
        reading = f"{'read_parquet' if path.suffix == '.parquet' else 'read_csv'}({literal(str(path))})"
        with duckdb.connect() as connection:
            kinds = {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE FROM {reading}").fetchall()}
            # Times as texts: to fetch one with a zone needs pytz, which DuckDB does not bring.
            shown_as = [
                f"CAST({in_quotes(n)} AS VARCHAR)" if "TIME" in k or k == "DATE" else in_quotes(n) for n, k in kinds.items()
            ]
            rows = connection.execute(f"SELECT {', '.join(shown_as)} FROM {reading}").fetchall()
            names = [*kinds] if path.suffix == ".parquet" else _header(connection, path, [*kinds])
        return [dict(zip(names, row, strict=True)) for row in rows]
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}") from None
    except pickle.UnpicklingError as error:
        said = "save a table by df.to_parquet(...), or a list of dictionaries of plain values"
        raise ResultsError(f"{path} is no pickle of plain records: {error}; {said}") from None
    except (duckdb.Error, ValueError, EOFError, AttributeError, IndexError, TypeError) as error:
        hint = "; is it a table in UTF-8?" if "sniffing" in str(error) else ""
        raise ResultsError(f"{path} cannot be read: {str(error).splitlines()[0]}{hint}") from None


def _header(connection: duckdb.DuckDBPyConnection, path: Path, names: list[str]) -> list[str]:
    """The names of a CSV file's columns as it has them: DuckDB gives `L` another name where there is an `l`."""
    sniffed = connection.execute(f"SELECT Delimiter, Quote, HasHeader FROM sniff_csv({literal(str(path))})").fetchone()
    if sniffed is None or not sniffed[2] or path.suffix == ".gz":
        return names
    delimiter, quote, _ = sniffed
    with path.open(encoding="utf-8-sig", newline="") as source:
        quoted = {"quotechar": quote} if len(quote) == 1 and quote.isprintable() else {}
        own = next(csv.reader(source, delimiter=delimiter, **quoted), [])
    agree = len(own) == len(set(own)) == len(names) and all(a == b or b.startswith(a) for a, b in zip(own, names, strict=True))
    return own if agree else names


def _records(told: Any) -> list[dict[str, Any]]:
    """A list of dictionaries, or a dictionary of columns, as rows of plain values."""

    def plain(value: Any) -> Any:
        return value.tolist() if hasattr(value, "tolist") else value

    if isinstance(told, dict):
        columns = {str(name): list(plain(column)) for name, column in told.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(told, list) and all(isinstance(one, dict) for one in told):
        return [{str(name): plain(value) for name, value in one.items()} for one in told]
    raise ValueError("it holds neither a list of dictionaries nor a dictionary of columns")


@dataclass
class OldRuns:
    """Runs as rows of a store, and the declarations of columns that the project does not know. `unfinished`: rows that were left
    out, as their status is none of ours."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    declared: list[Column] = field(default_factory=list)
    unfinished: int = 0


def resolved(told: Map, columns: Sequence[str], table: Sequence[Cell], known: Mapping[str, Column]) -> Map:
    """The map with each column of the table in its place. `known`: columns of stores and keys of parts.

    ResultsError for a column that is not there, and for columns of which nothing says what they are, with a draft of a map.
    """
    groups = {"keys": told.keys, "metrics": told.metrics, "curves": told.curves}
    named = {of.column: f"{role}: {name}" for role, group in groups.items() for name, of in group.items() if of.column}
    named |= {told.run: "run"} if told.run else {}
    named |= {told.status.column: "status"} if told.status and told.status.column else {}
    for column, place in named.items():
        if column not in columns:
            said = f"; for one value for all runs, write {{value: {column}}}" if place.startswith("keys") else ""
            raise ResultsError(f"map: {place}: the table has no column {show(column)}{nearest(column, columns) or said}")
    for name in (*told.keys, *told.metrics, *told.curves):
        if name.lower() in RESERVED and not isinstance(known.get(name), Key | Metric):
            raise ResultsError(f"map: {show(name)} is a column of the store: give it another name, such as {THEIRS}{name}")
    keys, metrics, curves, unknown = dict(told.keys), dict(told.metrics), dict(told.curves), []
    for column in columns:
        prefix = next((one for one in told.prefixes if column.startswith(one)), "")
        name = column.removeprefix(prefix)
        name = name if name in known else ELSEWHERE.get(name, name)
        if column in named or any(fnmatchcase(column, pattern) for pattern in told.ignore):
            continue
        one = known.get(name)
        if isinstance(one, Key):
            keys.setdefault(name, Of(column=column))
        elif isinstance(one, Metric) and not one.expression and one.per == "network":
            metrics.setdefault(name, Of(column=column))
        elif (
            isinstance(one, Metric)
            and name in LAST
            and not told.run
            and not any(isinstance(row.get(column), list) for row in table)
        ):
            metrics.setdefault(LAST[name], Of(column=column))
        elif isinstance(one, Metric) and one.per == "evaluation":
            curves.setdefault(name, Of(column=column))
        elif prefix:
            (keys if told.prefixes[prefix] == "key" else metrics).setdefault(name, Of(column=column))
        else:
            unknown.append(column)
    if unknown:
        raise ResultsError(f"nothing says what {listed(map(show, unknown))} {'is' if len(unknown) == 1 else 'are'}; "
                           f"a draft of a map to edit and save, for --map:\n{_draft(unknown, table)}")  # fmt: skip
    return told.model_copy(update={"keys": keys, "metrics": metrics, "curves": curves})


def _draft(unknown: Sequence[str], table: Sequence[Cell]) -> str:
    """A map that takes numbers with fractions for metrics, and other values for keys."""
    numbers = [name for name in unknown if _kind(one.get(name) for one in table) == "number"]
    groups = {"keys": [name for name in unknown if name not in numbers], "metrics": numbers}
    ours = {name: f"{THEIRS}{name}" if name.lower() in RESERVED else name for name in unknown}
    return written({role: {ours[name]: name for name in names} for role, names in groups.items() if names}).rstrip()


def _kind(values: Iterable[Any]) -> Kind:
    """The kind of these values; None counts for nothing."""
    found = [value for value in values if value is not None and value == value]
    if found and all(isinstance(value, bool) for value in found):
        return "truth"
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
        return "whole" if found and all(float(value).is_integer() and abs(value) < MOST for value in found) else "number"
    return "text"


def old_runs(table: Sequence[Cell], told: Map, known: Mapping[str, Column], file: str) -> OldRuns:
    """The runs of a table as rows. `told`: its map, resolved. `known`: the columns of the store. ResultsError if a value does not
    fit its column."""
    runs: dict[Any, list[Cell]] = {}
    for number, row in enumerate(table):
        runs.setdefault(row[told.run] if told.run else number, []).append(row)
    if told.run and "step" in told.curves:
        at = told.curves["step"].column
        runs = {run: sorted(rows, key=lambda row: (row[at] is None, row[at])) for run, rows in runs.items()}
    declared = _declared(told, table, known)
    found, again, now = OldRuns(declared=[*declared.values()]), Counter[str](), datetime.now(UTC)
    for number, (run, rows) in enumerate(runs.items()):
        place = f"run {show(run)}" if told.run else f"row {number + 1}"
        status = _value(told.status, rows[-1], place, "status", "text") if told.status else "ok"
        if status not in STATUSES:
            found.unfinished += 1
            continue
        columns = {name: known.get(name) or declared[name] for name in (*told.keys, *told.metrics)}
        row = {name: _value(of, rows[-1], place, name, columns[name].kind) for name, of in told.keys.items()}
        row = {"task": IMPORTED, **{name: value for name, value in row.items() if value is not None}}
        told_keys = json.dumps({**row, "status": None}, sort_keys=True, default=str)
        again[told_keys] += 1
        row |= _gamma(row, place)
        measured = {name: _value(of, rows[-1], place, name, columns[name].kind) for name, of in told.metrics.items()}
        curves = _curves(told, rows, place)
        digest = hashlib.sha256(f"{told_keys}\n{again[told_keys]}".encode()).hexdigest()[:19]
        reason = {"reason": f"{status} when it was imported"} if status != "ok" else {}
        row |= {"cell_id": ROW_ID + digest, "status": status, "engine": IMPORTED, "science_version": IMPORTED, "finished_at": now}
        found.rows.append(row | reason | _of_curves(curves, measured) | curves)
    if not found.rows:
        left = f" that has ended: {counted(found.unfinished, 'row')}" if found.unfinished else ""
        raise ResultsError(f"{file} holds no run{left}")
    return found


def _declared(told: Map, table: Sequence[Cell], known: Mapping[str, Column]) -> dict[str, Column]:
    """Declarations of the columns that the package `declarations` does not know."""
    found = {name: known[name] for name in (*told.keys, *told.metrics, *told.curves) if name in known and name not in DECLARED}
    for name, of in told.keys.items():
        if name not in known:
            found[name] = Key(
                name, of.title or name, _kind([of.value] if not of.column else (row.get(of.column) for row in table))
            )
    for name, of in told.metrics.items():
        if name not in known:
            found[name] = Metric(name, of.title or name, low=of.low, high=of.high)
    for name, of in told.curves.items():
        if name not in known:
            found[name] = Metric(name, of.title or name, low=of.low, high=of.high, per="evaluation")
    return found


def _value(of: Of | None, row: Cell, place: str, name: str, kind: Kind) -> Any:
    """The value of one key or metric. ResultsError if it does not fit."""
    assert of is not None
    value = row.get(of.column) if of.column else of.value
    if value is not None and str(value) in of.words:
        value = of.words[str(value)]
    if value is None or value == "" or value != value:
        return None
    if name == "gamma" and value == "lazy":
        return value
    try:
        if kind == "text":
            return shown(value) if isinstance(value, float) else str(value)
        if kind == "truth":
            return bool(value)
        is_percent = isinstance(value, str) and value.rstrip().endswith("%")
        number = float(value.rstrip().removesuffix("%")) / 100 if is_percent else float(value) * of.scale
        if kind == "whole" and not (number.is_integer() and abs(number) < MOST):
            raise ValueError
        return int(number) if kind == "whole" else number
    except (TypeError, ValueError, OverflowError):
        taken = f", from column {show(of.column)}," if of.column not in ("", name) else ""
        said = "a whole number of at most 64 bits" if kind == "whole" else "a number"
        listed_there = (
            "; with `run` a row is one evaluation: leave it out where columns hold lists" if isinstance(value, list) else ""
        )
        raise ResultsError(f"{place}: {name} = {show(value)}{taken} is not {said}{listed_there}") from None


def _gamma(row: Cell, place: str) -> dict[str, Any]:
    """gamma and its label: a number, or lazy."""
    gamma = row.get("gamma")
    if gamma is None:
        return {}
    if gamma != "lazy":
        return {"gamma_label": row.get("gamma_label") or f"{gamma:.12g}"}
    if not row.get("d"):
        raise ResultsError(f"{place}: gamma = lazy stands for {LAZY:g} / sqrt(d), and there is no d: give gamma as a number")
    return {"gamma": LAZY / math.sqrt(row["d"]), "gamma_label": "lazy"}


def _curves(told: Map, rows: Sequence[Cell], place: str) -> dict[str, Any]:
    """The curves of a run, by column of the store."""
    found: dict[str, Any] = {}
    for name, of in told.curves.items():
        metric = METRICS.get(name) or Metric(name, name, per="evaluation")
        values = [row.get(of.column) for row in rows] if told.run else rows[-1].get(of.column) or []
        if not isinstance(values, list):
            raise ResultsError(
                f"{place}: {name} = {show(values)} is a value of one evaluation: name by `run` the column that names a run whose "
                f"rows are its evaluations, give lists, or leave the column out: ignore: [{of.column}]"
            )
        kind = metric.kind if metric.kind == "whole" else "number"
        listed_values = [_value(Of(value=value, scale=of.scale), {}, place, name, kind) for value in values]
        if listed_values:
            found[column_of(metric) if name in METRICS else name] = [math.nan if v is None else v for v in listed_values]
    if len({len(values) for values in found.values()}) > 1:
        raise ResultsError(f"{place}: its curves differ in length: {listed(f'{name} {len(v)}' for name, v in found.items())}")
    return found


def _of_curves(curves: Mapping[str, Sequence[float]], measured: Cell) -> dict[str, Any]:
    """Metrics of a run, with those that its curve of test accuracies gives if the table has none."""
    found = {name: value for name, value in measured.items() if value is not None}
    accuracies = [value for value in curves.get("curve_test_acc", ()) if value == value]
    return ({"final_test_acc": accuracies[-1], "best_test_acc": max(accuracies)} if accuracies else {}) | found
