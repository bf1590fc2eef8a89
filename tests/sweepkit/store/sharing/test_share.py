"""Runs hold what the store holds, and each tracker has every run once, whenever an export is killed."""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from analysis.data.points import points
from analysis.data.selection import Selection
from sweepkit.extras import EXTRAS
from sweepkit.store.files import Files, ResultsError, open_files
from sweepkit.store.sharing.destination import Destination, alone
from sweepkit.store.sharing.runs import Run, digest
from sweepkit.store.sharing.selecting import NO_SWEEP, runs, sweeps
from sweepkit.store.sharing.share import Shared, chosen, share
from sweepkit.store.sharing.trackers import TRACKERS
from sweepkit.store.store import Store
from tests.sweepkit.store.sharing.conftest import STEPS, network


class Told(NamedTuple):
    """What a tracker holds of a run, read by the tracker's own means."""

    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    curves: Mapping[str, Mapping[int, float]]


def _of_tensorboard(at: Any, sweep: str) -> list[Told]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    found = []
    for folder in sorted(Path(at["out"], sweep).iterdir()):
        events = EventAccumulator(str(folder)).Reload()
        scalars = {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}
        told = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        start = HParamsPluginData.FromString(told).session_start_info.hparams
        params = {name: str(getattr(value, value.WhichOneof("kind"))) for name, value in start.items()}
        lines = events.Tensors("about")[0].tensor_proto.string_val[0].decode().splitlines()[2:]
        tags = dict(line.strip("| ").split(" | ", 1) for line in lines)
        metrics = {tag.removeprefix("summary/"): value for tag, each in scalars.items() for value in each.values()}
        curves = {tag: curve for tag, curve in scalars.items() if not tag.startswith("summary/")}
        found.append(Told(params, tags, {n: v for n, v in metrics.items() if n not in curves}, curves))
    return found


def _wandb_records(data: bytes) -> Iterator[bytes]:
    """The records of a .wandb file: LevelDB's log after a header of 7 bytes, in blocks of 32 kB that no piece crosses."""
    at, pieces = 7, b""
    while at + 7 <= len(data):
        if (rest := 32768 - at % 32768) < 7:
            at += rest
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        pieces += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield pieces
            pieces = b""


def _of_wandb(at: Any, sweep: str) -> list[Told]:
    from wandb.proto.wandb_internal_pb2 import Record

    found = []
    for path in sorted(Path(at["out"]).glob("wandb/offline-run-*/*.wandb")):
        config: dict[str, Any] = {}
        summary: dict[str, Any] = {}
        curves: dict[str, dict[int, float]] = {}
        ended = False
        # Wandb's own process writes the end of a run after the call has returned.
        while not any(Record.FromString(data).HasField("exit") for data in _wandb_records(path.read_bytes())):
            time.sleep(0.05)
        for data in _wandb_records(path.read_bytes()):
            record = Record.FromString(data)
            for one in record.run.config.update:
                config[one.key] = json.loads(one.value_json)
            ended = ended or record.HasField("exit")
            for one in record.summary.update:
                summary[one.key or one.nested_key[0]] = json.loads(one.value_json)
            items = {one.key or one.nested_key[0]: json.loads(one.value_json) for one in record.history.item}
            for name, value in items.items():
                if not name.startswith("_"):
                    curves.setdefault(name, {})[items["_step"]] = value
        assert ended
        plain = {name: str(value) for name, value in config.items()}
        metrics = {n: v for n, v in summary.items() if not n.startswith("_") and n not in curves}
        found.append(Told(plain, plain, metrics, curves))
    return [told for told in found if told.tags["sweep"] == sweep]


def _of_mlflow(at: Any, sweep: str) -> list[Told]:
    from mlflow import MlflowClient

    client = MlflowClient(at["tracking_uri"])
    experiment = client.get_experiment_by_name(sweep)
    assert experiment
    found = []
    for run in client.search_runs([experiment.experiment_id]):
        assert run.info.status in ("FINISHED", "FAILED")
        history = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
        curves = {name: {m.step: m.value for m in each} for name, each in history.items() if each[0].step}
        assert all(len(curves[name]) == len(history[name]) for name in curves)  # no step twice
        tags = {**run.data.tags, "state": run.info.status}
        found.append(Told(run.data.params, tags, {n: v for n, v in run.data.metrics.items() if n not in curves}, curves))
    return found


READ: dict[str, Callable[[Any, str], list[Told]]] = {"tensorboard": _of_tensorboard, "wandb": _of_wandb, "mlflow": _of_mlflow}


@pytest.fixture(params=TRACKERS)
def tracker(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(EXTRAS[request.param].modules[0], reason=f"needs the extra {request.param}")
    return str(request.param)


@pytest.fixture
def options(tracker: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("WANDB_SILENT", "true")
    if tracker == "mlflow":
        return {"tracking_uri": request.getfixturevalue("mlflow_server")}
    return {"out": tmp_path / "out", "offline": True if tracker == "wandb" else None}


@pytest.fixture
def sweep(results: str, request: pytest.FixtureRequest) -> str:
    """A sweep of its own for each test, as the tests share one server."""
    name = f"s{digest(request.node.name)[:8]}"
    Store(results).write_plan(name, [f"{i:020x}" for i in range(6)])
    return name


@pytest.fixture
def files(results: str) -> Files:
    return open_files(results)


def opened(tracker: str, options: Mapping[str, Any]) -> Destination:
    return TRACKERS[tracker].opened(options)


def test_networks_with_their_curves(tracker: str, options: dict[str, Any], files: Files, sweep: str) -> None:
    assert share(files, opened(tracker, options), sweep) == Shared(added=6)
    found = {told.tags["cell_id"]: told for told in READ[tracker](options, sweep)}
    assert sorted(found) == [f"{i:020x}" for i in range(6)]
    one = found[f"{1:020x}"]
    assert float(one.params["L"]) == 3 and float(one.params["seed"]) == 1 and one.params["gamma_label"] == "1"
    assert one.params["network"] == "relu2"  # the row does not name it
    assert one.tags["sweep"] == sweep and one.tags["git_sha"] == "abc" and one.tags["host"] == "here"
    assert list(one.curves["test_acc"]) == STEPS
    assert list(one.curves["test_acc"].values()) == pytest.approx([0.58 + i / 20 for i in range(6)], abs=1e-6)  # single precision
    assert one.metrics["best_test_acc"] == pytest.approx(0.500001, abs=1e-7)
    assert [found[f"{i:020x}"].tags["status"] for i in (3, 4, 5)] == ["ok", "diverged", "failed"]
    assert "boom" in found[f"{5:020x}"].tags["reason"]
    assert "test_acc" not in found[f"{4:020x}"].curves


def test_again_adds_what_is_new_and_replaces_what_changed(
    tracker: str, options: dict[str, Any], results: str, files: Files, sweep: str
) -> None:
    share(files, opened(tracker, options), sweep, where="L = 3")
    assert share(files, opened(tracker, options), sweep) == Shared(added=3, there=3)
    Store(results).commit("t", [network(5, 4, 2)])  # the failed one was tried again
    assert share(files, opened(tracker, options), sweep) == Shared(replaced=1, there=5)
    assert share(files, opened(tracker, options), sweep) == Shared(there=6)
    found = READ[tracker](options, sweep)
    assert sorted(told.tags["cell_id"] for told in found) == [f"{i:020x}" for i in range(6)]
    assert sorted(told.tags["status"] for told in found) == ["diverged"] + ["ok"] * 5


def test_configurations_are_the_points_of_the_app(
    tracker: str, options: dict[str, Any], files: Files, results: str, sweep: str
) -> None:
    assert share(files, opened(tracker, options), sweep, "configuration") == Shared(added=2)
    three, four = sorted(READ[tracker](options, sweep), key=lambda told: float(told.params["L"]))
    (point,) = points(results, Selection.of(sweep, L=3), "best_test_acc").frame.to_dict("records")
    for name, value in (("", point["mean"]), ("low/", point["low"]), ("high/", point["high"])):
        assert three.metrics[f"{name}best_test_acc"] == pytest.approx(value, abs=1e-7)  # TensorBoard has single precision
    mean, low, high = (three.curves[f"{end}test_acc"] for end in ("", "low/", "high/"))
    assert list(mean) == list(low) == STEPS
    assert mean[1] == pytest.approx(0.58, abs=1e-6)
    half = 4.302653 * 0.05 / 3**0.5  # Student's t for 95% and two degrees of freedom, for 0.53, 0.58, 0.63
    assert (mean[1] - low[1], high[1] - mean[1]) == pytest.approx((half, half), abs=1e-6)
    assert four.tags["status"] == "1 ok, 1 diverged, 1 failed" and "boom" in four.tags["reason"]
    assert (four.metrics["n"], four.metrics["diverged"]) == (1, 1)
    assert "low/test_acc" not in four.curves  # one seed has no interval
    Store(results).commit("t", [network(5, 4, 2)])
    assert share(files, opened(tracker, options), sweep, "configuration") == Shared(replaced=1, there=1)
    assert len(READ[tracker](options, sweep)) == 2


KILLED = """
import os, sys
from sweepkit.store.files import open_files
from sweepkit.store.sharing import trackers
from sweepkit.store.sharing.share import share
made = trackers.TRACKERS[sys.argv[1]].opened({options!r})
type(made).at_once = 1  # so that the third run is the one cut off
import {module} as module
real, left = module.{name}, [{calls}]
def dying(*args, **more):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), 9)
    return real(*args, **more)
module.{name} = dying
share(open_files(sys.argv[2]), made, sys.argv[3])
"""


@pytest.mark.parametrize(
    ("of", "module", "name", "calls"),
    [
        ("tensorboard", "sweepkit.console.writing", "os.replace", 2),
        ("wandb", "sweepkit.store.sharing.to_wandb", "os.replace", 2),
        ("wandb", "sweepkit.store.sharing.to_wandb", "_told", 2),
        ("mlflow", "mlflow", "MlflowClient.log_batch", 2),
        ("mlflow", "mlflow", "MlflowClient.set_tag", 2),
    ],
)
def test_killed_and_done_again(
    of: str,
    module: str,
    name: str,
    calls: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    results: str,
    files: Files,
    sweep: str,
) -> None:
    """Killed just before the third run is renamed, told its numbers, or called complete."""
    pytest.importorskip(EXTRAS[of].modules[0], reason=f"needs the extra {of}")
    options = {"out": str(tmp_path / "out"), "offline": True if of == "wandb" else None}
    if of == "mlflow":
        options = {"tracking_uri": request.getfixturevalue("mlflow_server")}
    script = KILLED.format(options=options, module=module, name=name, calls=calls)
    ended = subprocess.run(
        [sys.executable, "-c", script, of, results, sweep], capture_output=True, cwd=Path(__file__).parents[4],
        env={**{name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}, "WANDB_SILENT": "true"},
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert share(files, opened(of, options), sweep) == Shared(added=4, there=2)
    found = READ[of](options, sweep)
    assert sorted(told.tags["cell_id"] for told in found) == [f"{i:020x}" for i in range(6)]
    if of != "mlflow":
        assert not [path for path in (tmp_path / "out").rglob("*") if path.name.endswith(".inprogress")]


def test_names_of_runs_do_not_depend_on_what_else_is_there(files: Files, results: str) -> None:
    before = {run.identity: (run.name, run.content) for run in runs(files, "uneven")}
    from tests.store_rows import keys

    Store(results).commit("u", [network(9, 4, 3, hops=2)], keys(hops="whole"))
    Store(results).write_plan("uneven", [f"{i:020x}" for i in (*range(6), 9)])
    after = {run.identity: (run.name, run.content) for run in runs(files, "uneven")}
    assert len(after) == 7 and before == {identity: after[identity] for identity in before}


def test_choosing_sweeps(files: Files) -> None:
    assert sweeps(files) == {NO_SWEEP: 1, "uneven": 6}
    assert chosen(files, [], "L = 4") == {"uneven": 3}
    with pytest.raises(ResultsError, match="no finished networks of sweep 'unevn'; did you mean 'uneven'"):
        chosen(files, ["unevn"])
    with pytest.raises(ResultsError, match="--where 'M = 4'"):
        chosen(files, [], "M = 4")
    with pytest.raises(ResultsError, match="more than a condition"):
        chosen(files, [], "true); SELECT (1")
    assert [run.identity for run in runs(files, NO_SWEEP)] == [f"{6:020x}"]


def test_one_export_at_a_time(tmp_path: Path) -> None:
    with alone(str(tmp_path)):
        with pytest.raises(ResultsError, match=r"another export to .* is under way"), alone(str(tmp_path)):
            pass
        with alone(str(tmp_path / "other")):
            pass


def test_a_folder_that_cannot_be_written(tracker: str, tmp_path: Path) -> None:
    if tracker == "mlflow":
        with pytest.raises(ResultsError, match="does not answer"):
            opened(tracker, {"tracking_uri": "http://127.0.0.1:1"})
        return
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="cannot write to"):
        opened(tracker, {"out": tmp_path / "file", "offline": True})


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweepkit.extras.find_spec", lambda name: None)
    with pytest.raises(ResultsError, match=r"needs wandb, not installed here: uv pip install --python .*\[wandb\]'$"):
        opened("wandb", {})


class FakeApi:
    """W&B's server as `Api` shows it: runs of this project, some of them deleted later."""

    def __init__(self, ids: Mapping[str, str]) -> None:
        self.ids, self.default_entity = dict(ids), "me"

    def runs(self, path: str, **_: object) -> list[Any]:
        assert path.startswith("me/")

        class Found:
            def __init__(found, name: str, state: str) -> None:
                found.id, found.state = name, state

            def delete(found) -> None:
                del self.ids[found.id]

        return [Found(name, state) for name, state in self.ids.items()]


def test_wandb_online_takes_up_what_was_cut_off(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is a fake: which runs are left alone, taken up again under their id, deleted for newer ones, or new."""
    pytest.importorskip("wandb", reason="needs the extra wandb")
    from sweepkit.store.sharing import to_wandb

    all_runs = list(runs(files, "uneven"))
    ids = [to_wandb.run_id("uneven", run) for run in all_runs]
    older = ids[2].replace(all_runs[2].content, "0" * 12)
    api = FakeApi({ids[0]: "finished", ids[1]: "crashed", older: "finished", "mine": "finished"})
    written: dict[str, int] = {}

    def told(made: str, run: Run, first: int = 0) -> None:
        written[made] = first

    class Made(str):
        resumed = property(lambda made: made == ids[1])
        step = 11

    monkeypatch.setattr(to_wandb, "_started", lambda sweep, run, *_, **how: Made(to_wandb.run_id(sweep, run)))
    monkeypatch.setattr(to_wandb, "_told", told)
    assert share(files, to_wandb.Online(api, None, "me"), "uneven") == Shared(added=4, replaced=1, there=1)
    assert written == {ids[1]: 11} | dict.fromkeys(ids[2:], 0)
    assert sorted(api.ids) == sorted([ids[0], ids[1], "mine"])


def test_tensorboard_leaves_other_folders_alone(files: Files, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    destination = opened("tensorboard", {"out": tmp_path})
    share(files, destination, "uneven")
    (folder,) = [
        path
        for path in (tmp_path / "uneven").iterdir()
        if f"{0:08x}" in path.name and "seed=0" in path.name and "L=3" in path.name
    ]
    shutil.move(folder, tmp_path / "uneven" / "renamed by its owner")
    assert share(files, opened("tensorboard", {"out": tmp_path}), "uneven") == Shared(there=6)


def test_where_mlflow_has_no_pages_it_is_said_how_to_look(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="needs the extra mlflow")
    from sweepkit.store.sharing.to_mlflow import MLflow

    package = tmp_path / "mlflow/__init__.py"
    monkeypatch.setattr(mlflow, "__file__", str(package))
    shown = MLflow("sqlite:///runs.db", client=None)
    command = "mlflow ui --backend-store-uri sqlite:///runs.db"
    assert shown.look == f"{command}, in an environment with the full mlflow (`pip install mlflow`)"
    package.parent.joinpath("server/js").mkdir(parents=True)
    assert shown.look == command
