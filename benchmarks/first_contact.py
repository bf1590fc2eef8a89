"""`python -m benchmarks.first_contact SECTION`: what a card does with this code, in parts of under ten minutes.

Each section prints JSON lines: `facts` (libraries, rates of the card), `right` (numbers against the processor's), `kinds`
(networks of all grids, likewise), `alone` (a step by number of networks, symbols, width), `noisy` (packs of `batched`),
`stacked`, `share` (processes that share a card), `one N L WIDTH` (a pack and nothing else, for profilers). `table FILE...`
makes the table of docs/inside/gpu.md from such lines.

It needs torch, Triton, numba, NumPy, SciPy, pydantic, rich and PyYAML, and DuckDB for `kinds` alone; no Ray. docs/inside/gpu.md
says in which order, and what to do with the answers. `--device cpu` with TRITON_INTERPRET=1 tries the sections, at small sizes,
without a card.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sweepkit.console.words import in_a_line
from trainables.cell import Cell, cell_of, lazy_gamma
from trainables.engines import ENGINES, DescentEngine, descent_engine
from trainables.engines.dense.batched import Batched
from trainables.engines.gram.cpu import Gram
from trainables.engines.stacked.trainer import Stacked
from trainables.tasks import SameDifferent, Template
from trainables.trainers.base import Trainer
from trainables.trainers.run import PackRun

RICH = (1.0, 2.5, 6.3, 15.8, 39.8, 100.0)
LADDER = (0.0, *(float(g) for g in np.logspace(-4.5, 0, 10)))
"""The gammas of figures C3 and 2; 0 stands for lazy."""


class Contact:
    """The sections, on one device. On the CPU all sizes are small: it shows that a section runs, and no time."""

    def __init__(self, device: str) -> None:
        self.device, self.on_card = device, device == "cuda"

    def facts(self) -> None:
        """Libraries, and the rates with which everything else is compared."""
        import triton

        say("facts", torch=torch.__version__, triton=triton.__version__, numpy=np.__version__)
        if not self.on_card:
            return
        p = torch.cuda.get_device_properties(0)
        say("facts", card=p.name, multiprocessors=p.multi_processor_count, L2_MiB=p.L2_cache_size / 2**20,
            GiB=p.total_memory / 2**30, free_GiB=torch.cuda.mem_get_info()[0] / 2**30)  # fmt: skip
        say("facts", copy_TB_s=self._copied_TB_s())
        room = torch.empty(2**26, device="cuda")
        for pinned in (True, False):
            host = torch.empty(2**26, pin_memory=pinned)
            took = self.ms(partial(room.copy_, host, non_blocking=True))
            say("facts", pinned=pinned, to_card_GB_s=4 * host.numel() / took / 1e6)
        a, b = torch.randn(2, 8192, 8192, device="cuda")
        say("facts", sgemm_TFLOP_s=2 * 8192**3 / self.ms(lambda: torch.mm(a, b)) / 1e9)
        x, u = torch.randn(176, 128, 128, device="cuda"), torch.randn(176, 128, 1024, device="cuda")
        say("facts", bmm_of_a_noisy_step_TFLOP_s=2 * 176 * 128 * 128 * 1024 / self.ms(lambda: torch.bmm(x, u), 20) / 1e9)
        graph, z = torch.cuda.CUDAGraph(), torch.zeros(1, device="cuda")
        with torch.cuda.graph(graph):
            for _ in range(1000):
                z += 1
        launched = self.ms(lambda: [z.add_(1) for _ in range(1000)])
        say("facts", us_a_kernel_in_a_graph=self.ms(graph.replay), us_a_kernel_launched=launched)

    def _copied_TB_s(self) -> float:
        """Bytes that the card's memory reads and writes in a second."""
        x = torch.empty(2**30, device="cuda")
        y = torch.empty_like(x)
        return 2 * 4 * x.numel() / self.ms(lambda: y.copy_(x)) / 1e9

    def right(self) -> None:
        """Many warps and blocks of neurons against the processor in float64; and the same digits twice, or threads race."""
        shapes = [(5, 16, 32), (16, 64, 1024), (31, 64, 4096), (64, 64, 1024), (300, 64, 2048), (300, 1024, 1024)]
        steps = 60 if self.on_card else 10
        for n_symbols, d, width in shapes if self.on_card else [(5, 16, 40), (40, 4, 40)]:
            pack = self.cells(4, n_symbols, d, width, gammas=(1.0, 0.0), dtype="float64")
            self._compare("gram", pack, self.gram, Gram, steps, L=n_symbols, d=d, width=width)
            single = self.cells(4, n_symbols, d, width, gammas=(1.0, 0.0))  # on tensor cores, where there are many symbols
            self._compare("gram", single, self.gram, Gram, steps, L=n_symbols, d=d, width=width, dtype="float32")
            first = self.gram(single).train(0, 1)[0]
            say("right", L=n_symbols, starts_at_log_2=bool((np.abs(first - np.log(2)) < 1e-7).all()))
        mixed = [cell for L, d in ((2, 16), (5, 64), (16, 32)) for cell in self.cells(2, L, d, 1024 if self.on_card else 40)]
        alone = [self.gram([cell]).train(0, steps)[0][0] for cell in mixed]
        say("right", engine="gram", mixed_as_alone=bool((self.gram(mixed).train(0, steps)[0] == np.array(alone)).all()))
        for sigma2 in (0.0, 1.0):
            pack = self.cells(4, 16, 64, 1024, sigma2, gammas=(1.0, 0.0), dtype="float64")
            self._compare("batched", pack, self.batched, Batched, 25, sigma2=sigma2)
        for training in ("sgd", "adam"):
            pack = self.networks(4, 3, 64, training, "float64")
            self._compare("stacked", pack, self.stacked, Stacked, 25, training=training)

    def kinds(self) -> None:
        """Every kind of network that the grids train, for some steps, with the metrics that its grid asks for: on the device in
        single precision with its proof, then in float64 beside the processor."""
        from benchmarks.kinds import apart, kinds_of_grids, trained  # here, as grids import DuckDB

        for name, cell, asked in kinds_of_grids(self.on_card):
            engine = next(e for e in ENGINES.values() if isinstance(e, DescentEngine) and not e.is_oracle and e.trains(cell))
            words: dict[str, Any] = {"kind": name, "engine": engine.name}
            started = time.perf_counter()
            try:
                make = engine.make if self.on_card else lambda cells, _: PackRun(cells, Stacked(cells, as_on_gpu=True))
                single, _ = trained(make([cell], self.device), asked)
                words["seconds"] = time.perf_counter() - started
                double = cell.model_copy(update={"training": cell.descent.model_copy(update={"dtype": "float64"})})
                on_device = self._trainer(engine, double)
                (ours, unmeasured), (theirs, _) = (
                    trained(PackRun([double], made), asked) for made in (on_device, Stacked([double]))
                )
            except Exception as error:  # noqa: BLE001 - one kind that fails must not hide the others
                say("kinds", **words, error=in_a_line(error)[:300])
                continue
            far = {key: apart(ours[key], theirs[key]) for key in theirs}
            loss_apart = apart(single["curve_train_loss"], theirs["curve_train_loss"])
            say("kinds", **words, apart=max(far.values()), where=max(far, key=far.__getitem__), single_apart=loss_apart,
                unmeasured=unmeasured)  # fmt: skip

    def _trainer(self, engine: DescentEngine, cell: Cell) -> Trainer:
        """The trainer of `engine` on the device, without its proof."""
        if engine.name == "gram":
            return self.gram([cell])
        return self.batched([cell]) if engine.name == "batched" else self.stacked([cell])

    def alone(self) -> None:
        """The time of a step by the number of networks (a lone program, then a full card), by symbols and by width."""
        for n in (1, 36, 132, 264, 528, 1056) if self.on_card else (1, 3):
            self._pack(self.gram, self.cells(n, 16, 256, 1024), L=16, d=256)
        shapes: list[tuple[int, int, int, int, tuple[float, ...]]] = [
            (264, 2, 256, 1024, RICH), (264, 16, 256, 1024, (0.0,)), (264, 16, 1024, 4096, RICH), (1, 64, 64, 1024, RICH),
            (264, 64, 64, 1024, RICH), (1, 1024, 128, 4096, RICH), (6, 1024, 128, 4096, RICH), (132, 1024, 128, 4096, RICH),
            (132, 1024, 1024, 4096, RICH), (132, 256, 1024, 4096, (0.0,)),
        ]  # fmt: skip
        for n, n_symbols, d, width, gammas in shapes if self.on_card else [(2, 40, 4, 40, (0.0,))]:
            self._pack(self.gram, self.cells(n, n_symbols, d, width, gammas=gammas), L=n_symbols, d=d,
                       lazy=gammas == (0.0,))  # fmt: skip
        c3 = [cell for L in range(2, 13) for d in (128, 256, 512, 1024) for cell in self.cells(36, L, d, 1024)]
        self._pack(self.gram, c3 if self.on_card else c3[::150], L="2..12", d="128..1024")

    def noisy(self) -> None:
        """Packs of `batched` as figure 2 has them."""
        for n in (1, 11, 66, 176) if self.on_card else (2,):
            self._pack(self.batched, self.cells(n, 64, 64, 1024, 1.0, gammas=LADDER), d=64, sigma2=1.0)

    def networks_of_any_kind(self) -> None:
        """Packs of `stacked`: perceptrons of depth 3, and transformers of the size of [Boix23]; a step is an epoch."""
        for P, n in ((64, 1), (64, 32), (1024, 1), (1024, 8)) if self.on_card else ((8, 2),):
            task = Template(template="aba/abb", P=P)
            small: dict[str, Any] = {} if self.on_card else {"embedding": 8, "width": 8, "test_size": 32}
            cells = [cell_of(task, seed=seed, batch=P, identity_qk=True, **small) for seed in range(n)]
            self._pack(self.stacked, cells, P=P, network="transformer")
        for n, width in ((1, 64), (64, 64), (64, 1024)) if self.on_card else ((2, 16),):
            for training in ("sgd", "adam"):
                self._pack(self.stacked, self.networks(n, 3, width, training), depth=3, training=training)

    def one(self, n: int, n_symbols: int, width: int, at: float = 0.0, seconds: float = 10.0) -> None:
        """A pack and nothing else: steps for some seconds, from the time `at` on."""
        started = time.perf_counter()
        torch.zeros(1, device=self.device)
        context = time.perf_counter() - started
        made = self.gram(self.cells(n, n_symbols, 256, width))
        ready = time.perf_counter() - started
        time.sleep(max(0.0, at - time.time()))
        end, steps = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            made.train(steps, 1000 if self.on_card else 10)
            steps += 1000 if self.on_card else 10
        free, total = torch.cuda.mem_get_info() if self.on_card else (0, 0)
        say("one", n=n, context_s=context, ready_s=ready, us_a_step=1e6 * seconds / steps, GiB_used=(total - free) / 2**30)

    def share(self) -> None:
        """Packs of 36 in 1, 2, 4 and 8 processes at once: do they run side by side or in turn?"""
        for k in (1, 2, 4, 8) if self.on_card else (1, 2):
            words = ["one", "36" if self.on_card else "2", "12", "1024" if self.on_card else "40", "--device", self.device]
            at = time.time() + (25 if k < 4 else 40)
            command = [sys.executable, "-m", "benchmarks.first_contact", *words, "--at", f"{at:.2f}"]
            running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(k)]
            told = [json.loads(process.communicate(timeout=240)[0].splitlines()[-1]) for process in running]
            say("share", processes=k, us_a_step=[one["us_a_step"] for one in told], GiB=max(one["GiB_used"] for one in told),
                steps_a_s=sum(1e6 / one["us_a_step"] for one in told), ready_s=max(one["ready_s"] for one in told))  # fmt: skip

    def cells(self, n: int, n_symbols: int, d: int, width: int, sigma2: float = 0.0, gammas: Sequence[float] = RICH,
              dtype: str = "float32") -> list[Cell]:  # fmt: skip
        """n networks: the gammas, 0 for lazy, for as many seeds as it takes."""
        task = SameDifferent(L=n_symbols, d=d, sigma2=sigma2)
        small: dict[str, Any] = {} if self.on_card else {"batch": 8, "test_size": 32}
        width = width if self.on_card else min(width, 40)
        chosen = [(k // len(gammas), gammas[k % len(gammas)] or lazy_gamma(task)) for k in range(n)]
        return [cell_of(task, width=width, gamma=gamma, base_lr=0.1, seed=s, dtype=dtype, **small) for s, gamma in chosen]

    def networks(self, n: int, depth: int, width: int, training: str, dtype: str = "float32") -> list[Cell]:
        """n perceptrons."""
        task = SameDifferent(L=16, d=64 if self.on_card else 4)
        keys: dict[str, Any] = {"network": "mlp", "depth": depth, "width": width}
        return [cell_of(task, **keys, gamma=1.0 / (1 + k % 8), training=training, seed=k // 8, dtype=dtype) for k in range(n)]

    def gram(self, cells: Sequence[Cell]) -> Trainer:
        """The trainer that the engine would make on a card, without its proof."""
        from trainables.engines.gram.engine import trainer_on_card

        return trainer_on_card(cells, self.device)

    def batched(self, cells: Sequence[Cell]) -> Trainer:
        from trainables.engines.dense import fused_step

        return Batched(cells, self.device, in_cache=False, kernels=fused_step)

    def stacked(self, cells: Sequence[Cell]) -> Trainer:
        return Stacked(cells, self.device)

    def _compare(self, engine: str, pack: list[Cell], ours: Callable[..., Trainer], theirs: Callable[..., Trainer], steps: int,
                 **words: Any) -> None:  # fmt: skip
        card, again, processor = ours(pack), ours(pack), theirs(pack)
        a, b, c = (made.train(0, steps)[0] for made in (card, again, processor))
        states = [made.state() for made in (card, again)]
        same = bool((a == b).all() and all((states[0][name] == states[1][name]).all() for name in states[0]))
        tests = np.abs(np.subtract(*(made.evaluate(0, pack[0].test_size)[0] for made in (card, processor)))).max()
        say("right", engine=engine, loss_apart=float(np.abs(a - c).max()), same_digits=same, accuracy_apart=float(tests), **words)

    def _pack(self, make: Callable[..., Trainer], pack: list[Cell], **words: Any) -> None:
        """Time one pack: its making, steps with the host's draws, an evaluation."""
        if self.on_card:  # of the pack before
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        made = make(pack)
        self.sync()
        making, steps = time.perf_counter() - started, 200 if self.on_card else 10
        rounds = count()  # later steps each time: their numbers are drawn, too
        whole = self.ms(lambda: made.train(next(rounds) * steps, steps), 3 if self.on_card else 1) / steps
        evaluation = self.ms(lambda: made.evaluate(0, pack[0].test_size), 1)
        held = torch.cuda.max_memory_reserved() / 2**30 if self.on_card else 0.0
        predicted = descent_engine(made.name).memory(pack, "cuda") / 2**30
        say("pack", engine=made.name, n=len(pack), width=pack[0].width, **words, making_s=making, us_a_step=1e3 * whole,
            us_a_step_and_network=1e3 * whole / len(pack), evaluation_ms_a_network=evaluation / len(pack), GiB=held,
            predicted_GiB=predicted)  # fmt: skip

    def sync(self) -> None:
        if self.on_card:
            torch.cuda.synchronize()

    def ms(self, run: Callable[[], object], rounds: int = 5) -> float:
        """Median wall time with a wait at the end, after one round that is not counted."""
        took = []
        for _ in range(rounds + 1):
            self.sync()
            started = time.perf_counter()
            run()
            self.sync()
            took.append(1e3 * (time.perf_counter() - started))
        return float(np.median(took[1:]))


def say(section: str, **found: Any) -> None:
    """Print one line of JSON, numbers with four digits."""
    short = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in found.items()}
    print(json.dumps({"section": section, **short}), flush=True)


def table(files: Sequence[str]) -> Table:
    """The packs of some files of JSON lines as a table."""
    lines = [json.loads(line) for file in files for line in Path(file).read_text().splitlines() if line.startswith("{")]
    card = next((line["card"] for line in lines if "card" in line), "no card")
    times = ("us_a_step", "us_a_step_and_network", "evaluation_ms_a_network")
    columns = ("engine", "n", "L", "d", "width", *times, "GiB", "predicted_GiB")
    made = Table(box=SIMPLE_HEAD, title=card, title_justify="left")
    for name in columns:
        made.add_column(name.replace("_", " "), justify="right")
    for line in lines:
        if line["section"] == "pack":
            made.add_row(*(str(line.get(name, "")) for name in columns))
    return made


SECTIONS = {name: name for name in ("facts", "right", "kinds", "alone", "noisy", "share")} | {"stacked": "networks_of_any_kind"}


def main() -> int:
    """Run one section; 2 where there is no card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=[*SECTIONS, "one", "table"])
    parser.add_argument("words", nargs="*", help="for `one`: networks, L, width; for `table`: files of JSON lines")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--at", type=float, default=0.0, help="for `one`: seconds since 1970 at which steps begin")
    asked = parser.parse_args()
    if asked.section == "table" and not (asked.words and all(Path(word).is_file() for word in asked.words)):
        parser.error("table wants files of JSON lines that exist")
    if asked.section == "table":
        Console(width=160).print(table(asked.words))
        return 0
    if asked.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device on this machine; --device cpu with TRITON_INTERPRET=1 tries a section without one", file=sys.stderr)
        return 2
    contact = Contact(asked.device)
    if asked.section == "one":
        n, n_symbols, width = map(int, asked.words)
        contact.one(n, n_symbols, width, asked.at, 10.0 if contact.on_card else 1.0)
    else:
        getattr(contact, SECTIONS[asked.section])()
    return 0


if __name__ == "__main__":
    sys.exit(main())
