"""`gram` on a GPU, as far as a machine without one can tell: in Triton's interpreter, and compiled ahead of time.

What needs the GPU is in test_trainers.py.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from orchestrator.grid.load import load_grid
from tests.interpreter import interpret
from trainables.engines.gram.plans import Steps
from trainables.kernels.pairs import plan_steps
from trainables.kernels.sizes import plan_length


def test_plans_hold_the_whole_batch():
    rng = np.random.default_rng(0)
    for n_symbols, batch in ((2, 1), (3, 16), (40, 128), (5000, 64)):
        u, v = rng.integers(0, n_symbols, (2, 20, batch))
        most, plan = min(n_symbols, batch), np.full((20, plan_length(n_symbols, batch)), -1, np.int32)
        plan_steps(np.sort(u * n_symbols + v, axis=1), n_symbols, plan)
        for t in range(20):
            head, first, often, *halves = np.split(plan[t], np.cumsum([3, batch, batch, 2 * most + 1 + 2 * batch]))
            pairs = []
            for s, half in enumerate(halves):
                symbols, starts, order, partner = np.split(half, np.cumsum([most, most + 1, batch]))
                found = {}
                for i in range(head[1 + s]):
                    for k in range(starts[i], starts[i + 1]):
                        found[int(order[k])] = (int(symbols[i]), int(partner[k]))[:: 1 - 2 * s]
                pairs.append([found[k] for k in range(head[0])])
            assert pairs[0] == pairs[1]
            assert [p[0] for p in pairs[0]] == first[: head[0]].tolist()
            repeated = [p for p, n in zip(pairs[0], often, strict=False) for _ in range(n)]
            assert sorted(repeated) == sorted(zip(u[t].tolist(), v[t].tolist(), strict=True))


def test_kernel_in_the_interpreter():
    interpret(Path(__file__).with_name("interpreted_cuda.py"))


def test_figure_c3_is_a_few_hundred_launches():
    """1584 networks in 264 groups of six gammas, 25,000 steps each: one plan is one launch of them all."""
    cells = [planned.cell for planned in load_grid("figc3", ()).cells]
    groups = {(cell.seed, cell.task): cell for cell in cells}.values()
    nets = SimpleNamespace(device=torch.device("cpu"))
    span = SimpleNamespace(n_symbols=[cell.task.L for cell in groups], z=groups, nets=nets)
    steps, launches, step = Steps(span, cells[0]), 0, 0
    while step < cells[0].steps:
        _, step = steps._key(step)
        launches += 1
    assert (len(cells), len(groups)) == (1584, 264) and launches <= 200


@pytest.mark.parametrize(("width", "dtype"), [(1024, "fp32"), (4096, "fp32"), (32, "fp64")])
def test_kernel_compiles_for_hopper(width, dtype):
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    from benchmarks.compiled import for_hopper, instructions, resources
    from trainables.engines.gram.cuda import options, sizes
    from trainables.engines.gram.cuda_step import train_steps

    constants = sizes(width, 128)
    precision = getattr(torch, f"float{dtype[2:]}")
    made = for_hopper(train_steps, constants, options(constants, precision), dtype, ("loss", "right"))
    assert made.asm["cubin"][:4] == b"\x7fELF"
    assert made.metadata.shared < 48 * 1024
    if width >= 1024:  # rows lie alike over the threads: no exchange of them, nor its barriers, inside a loop over rows
        exchanges = [line for line in made.asm["ttgir"].splitlines() if "ttg.convert_layout" in line]
        assert not [line for line in exchanges if f"x{constants['BLOCK']}x" in line]
        # Where a network begins is known only at run time; its rows are still read and written four numbers at a time.
        assert made.asm["ptx"].count("ld.global.v4") > 50 and made.asm["ptx"].count("st.global.v4") > 10
        # 8 rows of q at a time: 128 FFMA of the product for 4 symbols and 4 neurons a thread, in each half.
        assert instructions(made)["FFMA"] >= 256 and resources(made)["STACK"] <= 72
