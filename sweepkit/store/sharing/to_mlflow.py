"""MLflow: an experiment per sweep, on a server or in a database file.

A run's content is its last tag, set after everything else. A run that lacks it was cut off: the next export deletes it and writes
it anew.
"""

import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException

from sweepkit.console.commands import joined
from sweepkit.console.words import in_a_line
from sweepkit.store.files import ResultsError
from sweepkit.store.sharing.destination import Broken
from sweepkit.store.sharing.runs import Run

IDENTITY, CONTENT = "sweep.identity", "sweep.content"
"""The tags by which a run is found again."""

_METRICS, _WORDS = 900, 100
"""Metrics, and params or tags, of one request: a server takes at most 1000 in all and 100 of the others."""
_PARAM_LENGTH, _TAG_LENGTH = 500, 5000
"""The longest values that servers of every version take."""
_ANSWER_S = 10
"""Seconds within which a server must answer at all."""


T = TypeVar("T")


@dataclass
class MLflow:
    """A tracking server, or a local database."""

    uri: str
    client: MlflowClient
    _experiments: dict[str, str] = field(default_factory=dict)
    _runs: dict[tuple[str, str], str] = field(default_factory=dict)
    """The ids of complete runs, by sweep and identity."""

    @classmethod
    def at(cls, tracking_uri: str | None = None) -> "MLflow":
        """The server or database at this address; by default MLFLOW_TRACKING_URI, else MLflow's own local place. ResultsError,
        without a long wait, if it cannot be used."""
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")  # else two lines per run
        uri = tracking_uri or mlflow.get_tracking_uri()
        _reach(uri)
        try:
            client = MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)
        except Exception as error:  # noqa: BLE001 - SQLAlchemy's and others' errors: whatever it is, nothing can be written
            raise ResultsError(f"MLflow at {uri}: {in_a_line(error)}") from None
        return cls(uri, client)

    @property
    def place(self) -> str:
        return f"MLflow at {self.uri}"

    @property
    def look(self) -> str:
        if _is_server(self.uri):
            return ""
        command = joined(["mlflow", "ui", "--backend-store-uri", self.uri])
        has_pages = Path(mlflow.__file__).with_name("server").joinpath("js").exists()  # the client alone has none
        return command if has_pages else f"{command}, in an environment with the full mlflow (`pip install mlflow`)"

    @property
    def at_once(self) -> int:
        return 4 if _is_server(self.uri) else 1

    def complete(self, sweep: str) -> Mapping[str, str]:
        with _answers(self.place):
            found = self.client.get_experiment_by_name(sweep)
            if found is not None and found.lifecycle_stage != "active":
                raise ResultsError(
                    f"{self.place}: the experiment {sweep} was deleted there; bring it back with "
                    f"`mlflow experiments restore --experiment-id {found.experiment_id}`, or remove it for good with `mlflow gc`"
                )
            self._experiments[sweep] = found.experiment_id if found else self.client.create_experiment(sweep)
            there: dict[str, str] = {}
            for run_id, tags in sorted(self._tagged(self._experiments[sweep])):
                identity, content = tags[IDENTITY], tags.get(CONTENT)
                if content is None or identity in there:  # cut off, or written by two exports at once
                    self.client.delete_run(run_id)
                else:
                    there[identity] = content
                    self._runs[sweep, identity] = run_id
        return there

    def _tagged(self, experiment: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Ids and tags of the experiment's runs that an export wrote."""
        token = None
        while True:
            page = self.client.search_runs([experiment], max_results=1000, page_token=token)
            yield from ((run.info.run_id, run.data.tags) for run in page if IDENTITY in run.data.tags)
            if not (token := page.token):
                return

    def write(self, sweep: str, run: Run) -> None:
        with _answers(self.place):
            if old := self._runs.pop((sweep, run.identity), None):
                self.client.delete_run(old)  # before its successor: a kill in between leaves none, not two
            tags = {_name(name): value[:_TAG_LENGTH] for name, value in run.tags.items()}
            started, ended = int(run.started * 1000), int(run.ended * 1000)
            made = self.client.create_run(
                self._experiments[sweep], start_time=started, tags={**tags, IDENTITY: run.identity}, run_name=run.name
            )
            run_id = made.info.run_id
            params = [Param(_name(name), str(value)[:_PARAM_LENGTH]) for name, value in run.params.items()]
            single = (Metric(_name(name), value, ended, 0) for name, value in run.metrics.items())
            curves = (
                Metric(_name(name), value, ended, step) for name, curve in run.curves.items() for step, value in curve.items()
            )
            words = list(_parts(params, _WORDS))
            numbers = list(_parts(chain(single, curves), _METRICS))
            for i in range(max(len(words), len(numbers))):
                self.client.log_batch(run_id, numbers[i] if i < len(numbers) else (), words[i] if i < len(words) else ())
            self.client.set_terminated(run_id, "FINISHED" if run.succeeded else "FAILED", ended)
            self.client.set_tag(run_id, CONTENT, run.content)
            self._runs[sweep, run.identity] = run_id


@contextmanager
def _answers(place: str) -> Iterator[None]:
    """Turn MLflow's errors into Broken."""
    try:
        yield
    except MlflowException as error:
        raise Broken(f"{place}: {in_a_line(error)}") from error


def _parts(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """The items in tuples of at most this size; itertools has this from Python 3.12 on."""
    each = iter(items)
    while part := tuple(islice(each, size)):
        yield part


def _is_server(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))


def _reach(uri: str) -> None:
    """Ask a server for anything at all: MLflow itself would try for minutes. ResultsError if nothing answers."""
    if not _is_server(uri):
        return
    try:
        urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=_ANSWER_S).close()
    except urllib.error.HTTPError:
        return  # it answers; MLflow will say what is wrong
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ResultsError(
            f"MLflow at {uri} does not answer ({reason}): is the server running, and is --tracking-uri "
            "(or MLFLOW_TRACKING_URI) right?"
        ) from None


def _name(name: str) -> str:
    """A name as MLflow allows it."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:250]
