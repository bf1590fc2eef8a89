"""`gram` for many symbols on a GPU, as far as a machine without one can tell: in Triton's interpreter, and compiled for one."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.interpreter import interpret


@pytest.mark.timeout(900)  # the interpreter runs each operation of each program from Python
def test_kernels_in_the_interpreter():
    interpret(Path(__file__).with_name("interpreted_large.py"))


@pytest.mark.parametrize(
    ("width", "dtype", "batch"), [(1024, "fp32", 128), (4096, "fp32", 128), (32, "fp32", 32), (1024, "fp64", 128)]
)
def test_kernels_compile_for_hopper(width, dtype, batch):
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    from benchmarks.compiled import for_hopper, resources
    from trainables.engines.gram.cuda_large import options, sizes
    from trainables.engines.gram.cuda_large_step import advance, score

    precision = getattr(torch, f"float{dtype[2:]}")
    constants = sizes(width, batch, precision)
    made = for_hopper(advance, constants, options(constants, precision), dtype)
    assert resources(made)["STACK"] == 0  # no register spills
    assert made.metadata.shared < 227 * 1024
    ptx = made.asm["ptx"]
    assert ("wgmma" in ptx) == ("tf32" in ptx) == (dtype == "fp32")
    if width >= 1024 and dtype == "fp32":  # rows are read and written four numbers at a time
        assert ptx.count("ld.global.v4") > 50 and ptx.count("st.global.v4") > 50
        assert ptx.count("st.global.b32") <= 4  # shares of outputs alone
    if dtype == "fp32":
        assert "cp.async" in ptx  # the next columns are loaded while these are multiplied
    made = for_hopper(score, {"BATCH": batch, "PAIRS": constants["PAIRS"], "BLOCKS": width // constants["BLOCK"]}, {}, dtype)
    assert resources(made)["STACK"] == 0


def tf32(x):
    """float32 rounded to 10 bits after the first, to nearest with ties away from zero, as `cvt.rna.tf32` does."""
    return ((x.view(np.uint32) + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


def test_three_terms_of_tf32_keep_the_digits_of_float32():
    """A product of 1,024 terms, summed as the kernel does: 16 terms at a time, the small ones first."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((64, 1024), (1024, 64)))
    big_a, big_b = tf32(a), tf32(b)
    small_a, small_b = tf32(a - big_a), tf32(b - big_b)
    exact = a.astype(np.float64) @ b
    size = (np.abs(a).astype(np.float64) @ np.abs(b)).max()

    def roundings(*pairs) -> float:
        """Largest error, in roundings of float32 of the sum of the terms' sizes."""
        total = np.zeros((64, 64), np.float32)
        for start in range(0, 1024, 16):
            part = np.zeros((64, 64), np.float32)
            for left, right in pairs:
                for k in range(start, start + 16):
                    part += left[:, k, None] * right[k]  # exact: each has 11 bits
            total += part
        return np.abs(total - exact).max() / (size * 2.0**-24)

    # 64 additions of parts, each rounded by half a unit of a total that is smaller than `size`, and the lost small_a small_b,
    # 2^-22 of a term at most: both have random signs. One term of TF32 loses 2^-11 of a factor, 8,000 roundings of a term.
    assert roundings((small_a, big_b), (big_a, small_b), (big_a, big_b)) < 3
    assert roundings((big_a, big_b)) > 100


def test_each_cell_has_its_own_trainer_whatever_its_pack(make_cell, monkeypatch):
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    from trainables.engines.gram import cuda, cuda_large
    from trainables.engines.gram.engine import FEW_SYMBOLS, trainer_on_card

    monkeypatch.setattr(cuda, "GramCuda", lambda cells, device: "one program a network")
    monkeypatch.setattr(cuda_large, "GramLarge", lambda cells, device: "two launches a step")
    few, many = (make_cell(L=n) for n in (FEW_SYMBOLS, FEW_SYMBOLS + 1))
    assert [trainer_on_card([one, one]) for one in (few, many)] == ["one program a network", "two launches a step"]
    with pytest.raises(ValueError, match="not both"):
        trainer_on_card([few, many])
