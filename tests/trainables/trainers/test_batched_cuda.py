"""`batched` on a GPU, as far as a machine without one can tell: in Triton's interpreter, and compiled ahead of time.

What needs the GPU is in test_trainers.py.
"""

import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.interpreter import interpret
from trainables.engines.dense.batched import Batched
from trainables.streams import BLOCK_STEPS


def test_kernels_in_the_interpreter():
    interpret(Path(__file__).with_name("interpreted_batched.py"))


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("width", [1024, 4096])
def test_kernels_compile_for_hopper(width, dtype):
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    from benchmarks.compiled import for_hopper, resources
    from trainables.engines.dense import fused_step

    item = int(dtype[2:]) // 8
    ours = {
        fused_step.take_outputs: (fused_step.output_sizes(128, width, item), fused_step.WARPS),
        fused_step.take_gradients: (fused_step.gradient_sizes(128, width, item), fused_step.TALL_WARPS),
    }
    for kernel, (sizes, warps) in ours.items():
        made = for_hopper(kernel, {"STEPS": BLOCK_STEPS, **sizes}, {"num_warps": warps}, dtype)
        ptx = made.asm["ptx"]
        of_16_bytes = f"v{16 // item}"
        assert ptx.count(f"ld.global.{of_16_bytes}") >= 10  # rows of h0 and q, a0 and b
        assert kernel is fused_step.take_outputs or ptx.count(f"st.global.{of_16_bytes}") >= 4  # rows of q, and b
        assert not re.search(r"\b(atom|red)\.", ptx)  # sums in a fixed order
        used = resources(made)
        assert used["STACK"] == used["LOCAL"] == 0  # no register spills


def test_a_trainer_ends_with_its_last_reference(make_cell):
    """Else its memory on a card, and its graphs, would stay until Python's garbage collector comes by."""
    gc.disable()
    try:
        trainer = Batched([make_cell()], in_cache=False)
        trainer.train(0, 3)
        seen = weakref.ref(trainer)
        del trainer
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize(("width", "dtype"), [(1024, "float64"), (1000, "float64"), (4096, "float32")])
def test_large_networks_on_a_card(make_cell, width, dtype):
    """Agree with a processor; and two runs with each other, to the last digit."""
    cells = [
        make_cell(sigma2=1.0, d=64, width=width, batch=128, gamma=gamma, seed=seed, dtype=dtype)
        for gamma in (1.0, "lazy")
        for seed in (0, 1)
    ]
    first, second = (Batched(cells, "cuda").train(0, 40) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    theirs = Batched(cells).train(0, 40)
    # 40 roundings of float32 at 6e-8, as in test_trainers.py, where a sum over 4096 neurons rounds more than once.
    np.testing.assert_allclose(first[0], theirs[0], rtol=0, atol=1e-9 if dtype == "float64" else 1e-5)
