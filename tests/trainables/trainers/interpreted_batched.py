"""The kernels of `batched` for GPUs in Triton's interpreter: run by test_batched_cuda.py, in a process of its own."""

from functools import partial

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime.interpreter import InterpreterBuilder

from tests.trainables.trainers.interpreted import (  # noqa: F401 - the tests are of this suite, too
    assert_same,
    test_divergence_is_seen_where_reference_sees_it,
    test_float32_keeps_its_digits,
    test_interrupted_and_resumed,
    train,
)
from trainables.checking.training import CLOSE
from trainables.engines.dense import fused_step
from trainables.engines.dense.batched import Batched
from trainables.engines.dense.reference import Reference

on_gpu = partial(Batched, in_cache=False, kernels=fused_step)


@pytest.fixture(name="on_gpu")
def its_trainer():
    return on_gpu


@pytest.fixture
def make(make):
    """Under noise, for which the engine is there."""
    return lambda **settings: make(**({"batch": 12, "sigma2": 1.0} | settings))


# Blocks of neurons and of examples that the networks fill, that they do not fill, and of which they take several.
@pytest.mark.parametrize(("width", "batch", "sigma2"), [(1, 1, 0.0), (32, 16, 0.0), (40, 12, 1.0), (70, 35, 1.0), (270, 8, 0.3)])
def test_agrees_with_reference(make, width, batch, sigma2):
    settings = [(1.0, 0), (3.0, 1), ("lazy", 0)]  # the networks of a group need not lie side by side
    cells = [make(width=width, batch=batch, sigma2=sigma2, gamma=g, seed=s) for g, s in settings]
    assert_same(train(on_gpu, cells), train(Reference, cells))


def test_networks_of_any_symbols_and_noise_share_a_pack(make):
    settings = [(2, 1.0, 1.0, "sqrt_d"), (5, 0.0, "lazy", "sqrt_d"), (13, 0.3, 1.0, "none"), (5, 0.0, 0.3, "none")]
    cells = [make(L=L, sigma2=sigma2, gamma=gamma, prefactor=prefactor) for L, sigma2, gamma, prefactor in settings]
    together = train(on_gpu, cells)
    np.testing.assert_allclose(together.curves, train(Reference, cells).curves, rtol=0, atol=CLOSE)
    for c in (1, 3):
        np.testing.assert_allclose(together.curves[:, c], train(on_gpu, [cells[c]]).curves[:, 0], rtol=0, atol=CLOSE)


def test_a_step_moves_a_quarter_of_what_single_operations_would(make, monkeypatch):
    """Six kernels; bytes of memory that each reads or writes, counted once however often it does."""
    for name, size in {"ROWS": 128, "TALL": 128, "BLOCK_BYTES": 4096, "NARROW_BYTES": 4096}.items():
        monkeypatch.setattr(fused_step, name, size)  # fewer programs in the interpreter; they touch the same addresses
    cells = [make(d=64, width=1024, batch=128, gamma=1.0 / (1 + k), dtype="float32") for k in range(16)]
    with Traffic() as traffic, torch.no_grad():
        trainer = Batched(cells, in_cache=False, kernels=traffic)
        x, y = trainer.staging.take(0)
        traffic.found.clear()
        trainer.fused.step(x, y, 3)
    assert [name for name, _ in traffic.found] == ["bmm", "index_select", "bmm", "take_outputs", "take_gradients", "baddbmm_"]
    # q is written, read twice, written and read; U is read twice and written: 8 arrays of 0.52 MB, as B = 2 d. The rest are x
    # and a sixteenth of h0. One kernel for each operation moved 18.6 MB.
    assert sum(n for _, n in traffic.found) / len(cells) < 4.7e6


class Traffic(TorchDispatchMode):
    """Kernels of tensor operations and of fused_step, each with the bytes that it reads or writes."""

    def __init__(self):
        super().__init__()
        self.found, self.addresses = [], None

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in operation._schema.returns)
        if self.addresses is None and not is_view:
            given = [*args, *(kwargs or {}).values()]
            # Its own first argument an operation in place reads and writes; what it returns otherwise, it only writes.
            also = [args[0]] if operation._schema.name.endswith("_") else [made] * (made is not (kwargs or {}).get("out"))
            tensors = [t for t in (*given, *also) if isinstance(t, torch.Tensor)]
            name = operation._schema.name.removeprefix("aten::")
            self.found.append((name, sum(t.numel() * t.itemsize for t in tensors)))
        return made

    def outputs(self, *arguments):
        self.count("take_outputs", fused_step.outputs, arguments)

    def gradients(self, *arguments):
        self.count("take_gradients", fused_step.gradients, arguments)

    def count(self, name, kernel, arguments):
        """Run a kernel while the interpreter tells the addresses that it reads and writes."""
        self.addresses = {"read": [], "written": []}
        with pytest.MonkeyPatch.context() as patch:
            for operation, kind, at in (("create_masked_load", "read", 1), ("create_masked_store", "written", 2)):
                patch.setattr(InterpreterBuilder, operation, self.noting(getattr(InterpreterBuilder, operation), kind, at))
            kernel(*arguments)
        n = 0
        for size, addresses in (pair for kind in self.addresses.values() for pair in by_size(kind).items()):
            n += size * (1 + np.count_nonzero(np.diff(np.sort(np.concatenate(addresses)))))
        self.found.append((name, n))
        self.addresses = None

    def noting(self, operation, kind, mask_at):
        def noted(builder, pointers, *others):
            mask = others[mask_at - 1].data
            size = pointers.get_element_ty().primitive_bitwidth // 8
            self.addresses[kind].append((size, pointers.data[mask]))
            return operation(builder, pointers, *others)

        return noted


def by_size(noted):
    found = {}
    for size, addresses in noted:
        found.setdefault(size, []).append(addresses.ravel())
    return found
