"""A card needs things before it trains, some errors are its own, and it evaluates groups at once."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from trainables.basics import CannotRecordError, CardFault, CardUnusable
from trainables.engines.dense.batched import Batched
from trainables.engines.gram.cpu import Gram
from trainables.engines.gram.engine import trainer_on_card
from trainables.trainers.card import faults as card
from trainables.trainers.card.faults import card_faults, check_card, take_every_digit
from trainables.trainers.run import PackRun

NEEDS_GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")]


@pytest.fixture
def seen(monkeypatch, tmp_path):
    """PyTorch sees a card, and all that Triton needs is there."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CC", "cc")
    monkeypatch.setattr(card.sysconfig, "get_paths", lambda **_: {"include": str(tmp_path)})
    (tmp_path / "Python.h").touch()
    (tmp_path / "libcuda.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    return tmp_path


def test_a_card_with_all_it_needs_compiles_into_the_projects_cache(seen):
    check_card()
    assert os.environ["TRITON_CACHE_DIR"] == str(seen / "sweep-orchestrator" / "triton")


def test_what_is_missing_is_named_with_what_installs_it(seen, monkeypatch):
    (seen / "libcuda.so.1").unlink()
    monkeypatch.setattr(card.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, "libc.so.6", ""))
    with pytest.raises(CardUnusable, match=r"libcuda\.so\.1 is not found; run ldconfig"):
        check_card()
    (seen / "Python.h").unlink()
    with pytest.raises(CardUnusable, match=r"Python\.h is missing; install python3-dev"):
        check_card()
    monkeypatch.delenv("CC")
    monkeypatch.setattr(card.shutil, "which", lambda name: None)
    with pytest.raises(CardUnusable, match="no C compiler is there; install gcc"):
        check_card()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    def no_driver() -> None:
        raise RuntimeError("Found no NVIDIA driver on your system.\nMore.")

    monkeypatch.setattr(torch.cuda, "init", no_driver)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(
        CardUnusable, match=r"no GPU here: Found no NVIDIA driver .* CUDA_VISIBLE_DEVICES is '7'\. See .* nvidia-smi"
    ):
        check_card()
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(CardUnusable, match="sees no GPU here: it is made without CUDA; install"):
        check_card()


@pytest.mark.parametrize("error", [
    RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with TORCH_USE_CUDA_DSA"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasSgemm"),
    RuntimeError("Triton Error [CUDA]: device kernel image is invalid"),
    getattr(torch, "AcceleratorError", RuntimeError)("CUDA error: uncorrectable ECC error encountered"),
])  # fmt: skip
def test_errors_of_cuda_are_the_cards_and_only_on_a_card(error):
    with pytest.raises(CardFault, match=re.escape(str(error).splitlines()[0])), card_faults("cuda"):
        raise error
    with pytest.raises(type(error)) as found, card_faults("cpu"):
        raise error
    assert found.value is error


@pytest.mark.parametrize("error", [
    torch.cuda.OutOfMemoryError("CUDA out of memory"), ValueError("a task's own fault"), RuntimeError("shapes do not match"),
    MemoryError("not enough memory"), CardUnusable("no compiler"),
])  # fmt: skip
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)) as found, card_faults("cuda"):
        raise error
    assert found.value is error


@pytest.mark.parametrize(
    "words", ["CUDA error: out of memory", "Triton Error [CUDA]: out of memory", "CUBLAS_STATUS_ALLOC_FAILED"]
)
def test_memory_that_pytorch_does_not_manage_is_memory_too(words):
    with pytest.raises(MemoryError, match="not enough memory on the card"), card_faults("cuda"):
        raise RuntimeError(words)


def test_what_cannot_be_recorded_is_no_fault_of_the_card():
    """A user's network that waits for the device, say: processors can train it."""
    with pytest.raises(CannotRecordError), card_faults("cuda"):
        raise CannotRecordError(
            "a step cannot be recorded for a GPU: CUDA error: operation not permitted when stream is capturing"
        )


class Counting(TorchDispatchMode):
    """Counts the operations that a card would be given."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.n += not func.is_view  # a view launches nothing
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("gammas", [(1.0, "lazy", 0.3, 3.0, 0.1, 10.0)])
def test_a_card_evaluates_a_group_at_once(gammas, make_cell):
    """The numbers of an evaluation one by one, and as many launches for six networks of a group as for two."""
    cells = [make_cell(gamma=g, seed=s, steps=20, eval_every=20) for s in range(2) for g in gammas]

    def evaluated(of, at_once):
        made = Batched(of, in_cache=False)
        made.train(0, 20)
        made.nets.at_once = at_once
        with Counting() as counted:
            right = made.evaluate(20, of[0].test_size)
        return right, counted.n

    together, n_all = evaluated(cells, True)
    np.testing.assert_array_equal(together, evaluated(cells, False)[0])
    _, n_two = evaluated([cells[k] for k in (0, 1, len(gammas), len(gammas) + 1)], True)
    assert n_all == n_two < 160  # operations of two groups, some 30 of each for the five scores


SIZES = [(5, 16, 1000), (16, 64, 1024), (31, 64, 4096), (64, 64, 1024), (300, 64, 2048), (300, 1024, 1024), (40, 4, 4096)]


@pytest.mark.parametrize(("L", "d", "width"), [pytest.param(*size, marks=NEEDS_GPU) for size in SIZES])
def test_gram_on_a_card_at_the_sizes_of_the_paper(make_cell, L, d, width):
    """Many warps, blocks of neurons and symbols: float64 as on a processor, float32 to its digits, the same digits twice."""
    settings = {"L": L, "d": d, "width": width, "steps": 60, "eval_every": 30, "batch": 128, "test_size": 256}
    for dtype, tolerance in (("float64", 1e-9), ("float32", 2e-5)):  # as in test_trainers.py
        cells = [make_cell(gamma=g, seed=s, dtype=dtype, **settings) for g in (1.0, "lazy") for s in (0, 1)]
        runs = [PackRun(cells, make(cells)) for make in (trainer_on_card, trainer_on_card, Gram)]
        for run in runs:
            run.advance(float("inf"))
        np.testing.assert_array_equal(runs[0].curves, runs[1].curves)
        np.testing.assert_allclose(runs[0].curves[0], runs[2].curves[0], rtol=0, atol=tolerance)


def test_the_driver_loads_no_torch_for_it():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, trainables.trainers.card.faults; assert 'torch' not in sys.modules"], check=False
    )
    assert done.returncode == 0


def test_convolutions_take_every_digit_and_add_in_one_order(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    take_every_digit()
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic) == (False, True)


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=NEEDS_GPU)])
def test_convolutions_on_a_card_have_the_digits_of_float32(device):
    """TF32 has 11 bits: sums of 288 products of normal numbers then miss by some 5e-4 of their size, float32 by some 1e-7."""
    take_every_digit()
    torch.manual_seed(0)
    x, w = torch.randn(16, 32, 14, 14), torch.randn(32, 32, 3, 3)
    exact = torch.nn.functional.conv2d(x.double(), w.double())
    ours = torch.nn.functional.conv2d(x.to(device), w.to(device)).cpu().double()
    assert (ours - exact).norm() < 1e-5 * exact.norm()
