"""TensorBoard: a folder per run in a folder per sweep, each with one event file, and the parameters for the HParams page.

The name of a file ends in its run's identity, and its first record tells the run's content. A file is written aside, under a name
that TensorBoard does not read, and then renamed: it is whole or not there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as of_layouts
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as of_hparams
from tensorboard.plugins.text import metadata as of_texts
from tensorboard.summary.writer.record_writer import RecordWriter

from sweepkit.console.commands import joined
from sweepkit.console.writing import make_folder, whole
from sweepkit.store.files import UNFINISHED, ResultsError, temporary
from sweepkit.store.sharing.averages import HIGH, LOW
from sweepkit.store.sharing.runs import Run

SUMMARY = "summary/"
"""The group of a run's single numbers, so that they do not stand among the curves."""

_PREFIX = "events.out.tfevents."


@dataclass
class TensorBoard:
    """A folder that TensorBoard shows."""

    folder: Path
    _files: dict[tuple[str, str], Path] = field(default_factory=dict)
    """The file of each run that is there, by sweep and identity."""

    at_once = 1

    @classmethod
    def at(cls, out: Path) -> "TensorBoard":
        """The folder, made if need be. ResultsError if it cannot be written to."""
        found = cls(Path(out).absolute())
        try:
            make_folder(found.folder)
            probe = found.folder / temporary("probe")
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise ResultsError(f"cannot write to {found.folder}: {error.strerror}") from None
        return found

    @property
    def place(self) -> str:
        return str(self.folder)

    @property
    def look(self) -> str:
        return joined(["tensorboard", "--logdir", str(self.folder)])

    def complete(self, sweep: str) -> Mapping[str, str]:
        there: dict[str, str] = {}
        for path in self.folder.glob(f"{_safe(sweep)}/*/*"):
            if path.name.endswith(UNFINISHED):
                path.unlink(missing_ok=True)
            elif path.name.startswith(_PREFIX):
                identity = path.name.removeprefix(_PREFIX)
                self._files[sweep, identity] = path
                there[identity] = _content(path)
        return there

    def write(self, sweep: str, run: Run) -> None:
        path = self._files.get((sweep, run.identity)) or self.folder / _safe(sweep) / _safe(run.name) / f"{_PREFIX}{run.identity}"
        try:
            with whole(path, aside=temporary(run.identity)) as sink:
                sink.write(_records(events(run)))
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from error


def _safe(name: str) -> str:
    """A name that is one folder on every system."""
    return re.sub(r"[^\w.=+ -]", "_", name).lstrip(".")[:200] or "_"


def _content(path: Path) -> str:
    """The content that the first record of an event file tells; empty if it is not ours."""
    first = next(iter(RawEventFileLoader(str(path)).Load()), b"")
    return Event.FromString(first).source_metadata.writer


def _records(found: Iterable[Event]) -> bytes:
    sink = BytesIO()
    writer = RecordWriter(sink)
    for event in found:
        writer.write(event.SerializeToString(deterministic=True))
    return sink.getvalue()


def events(run: Run) -> Iterator[Event]:
    """All records of a run, with the time of its end: its content, parameters and facts, a record per step, and how it ended."""
    first = Event(wall_time=run.ended, file_version="brain.Event:2")
    first.source_metadata.writer = run.content
    yield first
    yield Event(wall_time=run.ended, summary=Summary(value=list(_about(run))))
    by_step: dict[int, list[Summary.Value]] = {}
    for name, curve in run.curves.items():
        for step, value in curve.items():
            by_step.setdefault(step, []).append(Summary.Value(tag=name, simple_value=value))
    last = max(by_step, default=0)
    single = [Summary.Value(tag=f"{SUMMARY}{name}", simple_value=value) for name, value in run.metrics.items()]
    for step, values in sorted({**by_step, last: [*by_step.get(last, []), *single]}.items()):
        yield Event(wall_time=run.ended, step=step, summary=Summary(value=values))
    status = api_pb2.STATUS_SUCCESS if run.succeeded else api_pb2.STATUS_FAILURE
    end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=run.ended)
    told = plugin_data_pb2.HParamsPluginData(session_end_info=end)
    yield Event(wall_time=run.ended, summary=Summary(value=[_of_hparams(of_hparams.SESSION_END_INFO_TAG, told)]))


def _about(run: Run) -> Iterator[Summary.Value]:
    start = plugin_data_pb2.SessionStartInfo(start_time_secs=run.started)
    for name, value in {**run.params, "status": run.tags["status"]}.items():
        kind = "bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
        setattr(start.hparams[name], f"{kind}_value", value)
    yield _of_hparams(of_hparams.SESSION_START_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_start_info=start))
    table = "\n".join(["| | |", "|---|---|", *(f"| {name} | {_cell(value)} |" for name, value in run.tags.items())])
    yield Summary.Value(tag="about", metadata=of_texts.create_summary_metadata("", ""), tensor=_text(table.encode()))
    if bands := [name for name in run.curves if LOW + name in run.curves]:
        charts = [
            layout_pb2.Chart(
                title=name,
                margin=layout_pb2.MarginChartContent(
                    series=[layout_pb2.MarginChartContent.Series(value=name, lower=LOW + name, upper=HIGH + name)]
                ),
            )
            for name in bands
        ]
        layout = layout_pb2.Layout(category=[layout_pb2.Category(title="means over seeds and 95% intervals", chart=charts)])
        metadata = of_layouts.create_summary_metadata()
        yield Summary.Value(tag=of_layouts.CONFIG_SUMMARY_TAG, metadata=metadata, tensor=_text(layout.SerializeToString()))


def _of_hparams(tag: str, told: plugin_data_pb2.HParamsPluginData) -> Summary.Value:
    metadata: SummaryMetadata = of_hparams.create_summary_metadata(told)
    return Summary.Value(tag=tag, metadata=metadata, tensor=of_hparams.NULL_TENSOR)


def _cell(value: str) -> str:
    """A text as one cell of a table in Markdown: TensorBoard makes HTML of it, without what could run."""
    return value.replace("|", "\\|").replace("\n", " ")


def _text(value: bytes) -> TensorProto:
    return TensorProto(dtype=DT_STRING, string_val=[value])
