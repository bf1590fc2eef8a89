"""`python -m benchmarks.compiled`: the kernels for GPUs compiled for sm_90 (H100, H200), without a card, and their code counted.

Registers and stack of a thread (a stack means spills), shared memory, and instructions of the whole binary: all, fused
multiply-adds, products on tensor cores, loads and stores of device memory, and those of 16 bytes a thread.
"""

import re
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
import triton
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from triton.backends.compiler import GPUTarget

from trainables.streams import BLOCK_STEPS

TYPES = dict.fromkeys(("programs", "networks", "groups", "now", "group"), "*i64") | {"plan": "*i16"}
TYPES |= dict.fromkeys(("loss", "right"), "*fp64")
NUMBERS = ("first_step", "n_steps", "n_planned", "n_total", "skipped", "n_pairs_recorded", "t", "updates", "continues", "records",
           "step")  # fmt: skip
TYPES |= dict.fromkeys(NUMBERS, "i32")
"""Types of the kernels' arguments by name; all others are arrays in the networks' precision."""


def for_hopper(
    kernel: Any, constants: Mapping[str, Any], options: Mapping[str, int], dtype: str, unaligned: Collection[str] = ()
) -> Any:
    """The kernel compiled as a trainer launches it, with arrays of `fp32` or `fp64` that begin at multiples of 16 bytes."""
    types = TYPES | dict.fromkeys(constants, "constexpr")
    signature = {name: types.get(name, f"*{dtype}") for name in kernel.arg_names}
    aligned = [i for i, (name, kind) in enumerate(signature.items()) if kind.startswith("*") and name not in unaligned]
    source = triton.compiler.ASTSource(kernel, signature, dict(constants), {(i,): [["tt.divisibility", 16]] for i in aligned})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=dict(options))


def resources(made: Any) -> dict[str, int]:
    """Registers and bytes of stack of a thread: REG, STACK, LOCAL."""
    printed = _told_by("cuobjdump", made, "-res-usage")
    return {name: int(value) for name, value in re.findall(r"\b(REG|STACK|LOCAL):(\d+)", printed)}


def instructions(made: Any) -> dict[str, int]:
    """Instructions of the binary, by kind."""
    lines = [line for line in _told_by("nvdisasm", made, "-c").splitlines() if re.match(r"\s+/\*[0-9a-f]+\*/", line)]
    kinds = {"all": "", "FFMA": r"\bFFMA", "tensor": r"\b[HQI]GMMA|\bHMMA", "load": r"\bLDG", "store": r"\bSTG"}
    found = {name: sum(bool(re.search(pattern, line)) for line in lines) for name, pattern in kinds.items()}
    wide = {f"{name} 16 B": sum(bool(re.search(rf"\b{code}\S*\.128", line)) for line in lines) for name, code in
            (("load", "LDG"), ("store", "STG"))}  # fmt: skip
    return found | wide


def _told_by(tool: str, made: Any, *words: str) -> str:
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / tool
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(made.asm["cubin"])
        file.flush()
        return subprocess.run([path, *words, file.name], capture_output=True, text=True, check=True).stdout


def kernels(width: int, batch: int = 128) -> dict[str, Any]:
    """All kernels in float32 for m neurons and B examples."""
    from trainables.engines.dense import fused_step
    from trainables.engines.gram import cuda, cuda_large, cuda_large_step
    from trainables.engines.gram.cuda_step import train_steps

    few, many = cuda.sizes(width, batch), cuda_large.sizes(width, batch, torch.float32)
    scored = {"BATCH": batch, "PAIRS": many["PAIRS"], "BLOCKS": many["WIDTH"] // many["BLOCK"]}
    outputs, gradients = (of(batch, width, 4) for of in (fused_step.output_sizes, fused_step.gradient_sizes))
    steps = {"STEPS": BLOCK_STEPS}
    return {
        "gram, L <= 32": for_hopper(train_steps, few, cuda.options(few, torch.float32), "fp32", ("loss", "right")),
        "gram, L > 32: advance": for_hopper(cuda_large_step.advance, many, cuda_large.options(many, torch.float32), "fp32"),
        "gram, L > 32: score": for_hopper(cuda_large_step.score, scored, {}, "fp32"),
        "batched: outputs": for_hopper(fused_step.take_outputs, steps | outputs, {"num_warps": fused_step.WARPS}, "fp32"),
        "batched: gradients": for_hopper(
            fused_step.take_gradients, steps | gradients, {"num_warps": fused_step.TALL_WARPS}, "fp32"
        ),
    }


def main() -> None:
    """Print the table."""
    table = Table(box=SIMPLE_HEAD, title=f"Triton {triton.__version__}, sm_90, float32, batch 128", title_justify="left")
    names = ("registers", "stack", "shared B", "all", "FFMA", "tensor", "load", "load 16 B", "store", "store 16 B")
    for name in ("kernel", "width", *names):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    for width in (1024, 4096):
        for name, made in kernels(width).items():
            used, counted = resources(made), instructions(made)
            row = {"registers": used["REG"], "stack": used["STACK"], "shared B": made.metadata.shared, **counted}
            table.add_row(name, str(width), *(str(row[column]) for column in names))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
