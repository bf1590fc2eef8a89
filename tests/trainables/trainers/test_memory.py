"""A trainer goes with its last reference: on a card its graphs and memory would otherwise outlive its pack."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from tests.trainables.trainers.stacked.stacked_cells import network
from trainables.engines import ENGINES, DescentEngine
from trainables.engines.dense.batched import Batched
from trainables.tasks import PSVRT
from trainables.trainers.card.staging import Room, Staging
from trainables.trainers.run import PackRun

DESCENT = [engine for engine in ENGINES.values() if isinstance(engine, DescentEngine)]


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("make", [*(engine.trainer for engine in DESCENT), lambda cells: Batched(cells, in_cache=False)])
def test_no_trainer_keeps_itself_alive(make, make_cell):
    """With the garbage collector off, also after steps and an evaluation."""
    tried = [make_cell(steps=20, eval_every=10), make_cell(task=PSVRT(L=4), steps=20, eval_every=10), network(steps=20)]
    engine = getattr(make, "__self__", ENGINES["batched"])
    cells = [next(filter(engine.trains, tried))]
    make(cells).train(0, 10)  # numba compiles, and keeps the frames of its first call
    run = PackRun(cells, make(cells))
    run.advance(float("inf"))
    run.results()
    gone = weakref.ref(run.trainer)
    del run
    assert gone() is None


def test_numbers_are_drawn_ahead_in_threads_and_none_is_mixed_up():
    """Two turns: whatever is drawn for the next key, and asked for in whatever order, a key's numbers are its own."""
    import torch

    def fill(g, key, rooms):
        rooms[0][g] = 10 * key + g

    staging = Staging([Room((3,), torch.int64)], torch.device("cpu"), 3, fill, ahead=True)
    for key, following in ((0, 1), (1, 2), (5, 6), (6, 6), (7, 8), (8, 9)):  # 5: another one was announced
        taken = staging.take(key)[0]
        assert taken.tolist() == [10 * key, 10 * key + 1, 10 * key + 2]
        staging.used(following)
        for part in staging.filling:
            part.result()
        assert taken.tolist() == [10 * key, 10 * key + 1, 10 * key + 2]  # the next turn is another one


def test_a_draw_that_fails_in_a_thread_fails_the_step_that_needs_it():
    import torch

    def fill(g, key, rooms):
        if key == 1:
            raise ValueError("no such batch")

    staging = Staging([Room((1,), torch.int64)], torch.device("cpu"), 1, fill, ahead=True)
    staging.take(0)
    staging.used(1)
    with pytest.raises(ValueError, match="no such batch"):
        staging.take(1)


class Recorder:
    """Stands for torch.cuda's streams and events, and notes what is queued in which order."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def event(self, name: str) -> "Recorder":
        made = Recorder()
        made.log, made.name = self.log, name
        return made

    def record(self, *_) -> None:
        self.log.append(f"record {self.name}")

    def synchronize(self) -> None:
        self.log.append(f"host waits {self.name}")

    def wait_event(self, event: "Recorder") -> None:
        self.log.append(f"{self.name} waits {event.name}")


def test_a_copy_waits_for_its_reader_and_a_reader_for_its_copy():
    """On a fake card: a turn is copied only once the steps that read it two plans ago are done, steps wait for their copy, and
    the host waits for nothing but the last copy out of the room that it fills."""
    import torch

    cuda = Recorder()
    staging = Staging([Room((1,), torch.int64)], torch.device("cpu"), 1, lambda *_: None, ahead=True)
    staging.on_gpu = True
    staging.stream, steps = cuda.event("copies"), cuda.event("steps")
    staging.copied = [cuda.event(f"copied {k}") for k in range(2)]
    staging.read = [cuda.event(f"read {k}") for k in range(2)]
    staging.queue, staging.copy = lambda: steps, lambda: None
    for key in range(3):
        staging.take(key)
        staging.used(key + 1)
    turns = [1, 0, 1]
    expected = ["host waits copied 1"]
    for turn in turns:
        expected += [f"copies waits read {turn}", f"record copied {turn}", f"steps waits copied {turn}"]
        expected += [f"record read {turn}", f"host waits copied {1 - turn}"]
    assert cuda.log == expected
