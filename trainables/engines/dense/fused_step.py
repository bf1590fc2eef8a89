"""The two kernels between the products of a step of `batched` on a GPU. Algebra as in trainables.trainers.centred.

C networks of m neurons see B examples each, those of group g the same ones. Arrays are those of trainables.engines.dense.fused:
h0 (S, B, m), q (C, B, m), a0, b (C, m), eps, lr (C,), group (C,), y (S, STEPS, B), loss and right (C, STEPS), where STEPS is the
number of steps in a block; f and df (C, B), the outputs and minus the rate times the derivative of the mean loss by them.

Both kernels read h0 and q once, the second also writes q; nothing else is as large. A program sums over all neurons of its
examples, or over all examples of its neurons, in a fixed order: the same numbers give the same digits. Side by side run, of the
first kernel, programs that read the same rows of h0; of the second, those of one network, which share the rows of q.
"""

import triton
import triton.language as tl

from trainables.kernels.card.on_card import cross_entropy, relu, slope

ROWS, BLOCK_BYTES, WARPS = 8, 2048, 4
"""Examples of a program of the first kernel, and the part of a row that it takes at a time: 16 bytes for each thread."""
TALL, NARROW_BYTES, TALL_WARPS = 32, 512, 8
"""Examples that a program of the second kernel takes at a time, and the part of a row that it owns: 16 bytes for each thread of a
warp."""


# The step is not specialised: Triton would compile variants for some steps, and no compiler may run while a graph is recorded.
@triton.jit(do_not_specialize=["step"])
def take_outputs(h0, q, a0, b, eps, lr, group, y, f, df, step, STEPS: tl.constexpr, BATCH: tl.constexpr, WIDTH: tl.constexpr,
                 ROWS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Compute f and df from h0 and q."""
    c = tl.program_id(0).to(tl.int64)
    g = tl.load(group + c)
    h0, q, a0, b = h0 + g * BATCH * WIDTH, q + c * BATCH * WIDTH, a0 + c * WIDTH, b + c * WIDTH
    y, f, df = y + (g * STEPS + step) * BATCH, f + c * BATCH, df + c * BATCH
    eps_c = tl.load(eps + c)
    inv_eps = 1.0 / eps_c
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    used = i < BATCH
    terms = tl.zeros((ROWS, BLOCK), a0.dtype.element_ty)
    for start in range(0, WIDTH, BLOCK):
        n = start + tl.arange(0, BLOCK)[None, :]
        inside = n < WIDTH
        at, there = i[:, None] * WIDTH + n, used[:, None] & inside
        h0_n, q_n = tl.load(h0 + at, there, 0.0), tl.load(q + at, there, 0.0)
        t = -h0_n * inv_eps
        change = tl.maximum(q_n, t, propagate_nan=tl.PropagateNan.ALL) - relu(t)
        terms += tl.load(b + n, inside, 0.0) * relu(h0_n + eps_c * q_n)
        terms += tl.load(a0 + n, inside, 0.0) * change
    tl.store(f + i, tl.sum(terms, 1), used)

    tl.debug_barrier()  # from here on a thread holds one example; of the sums above each holds all
    x, rate = tl.load(f + i, used, 0.0), tl.load(lr + c).to(tl.float64) / BATCH
    tl.store(df + i, (-rate * slope(x, tl.load(y + i, used, 0.0))).to(x.dtype), used)


@triton.jit(do_not_specialize=["step"])
def take_gradients(h0, q, a0, b, eps, group, y, f, df, loss, right, step, STEPS: tl.constexpr, BATCH: tl.constexpr,
                   EXAMPLES: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Replace q by df a 1[h > 0] and step b; a network's first program also tells its loss and right predictions."""
    parts = tl.cdiv(WIDTH, BLOCK)
    part, c = tl.program_id(0) % parts, (tl.program_id(0) // parts).to(tl.int64)
    g = tl.load(group + c)
    h0, q, a0, b = h0 + g * BATCH * WIDTH, q + c * BATCH * WIDTH, a0 + c * WIDTH, b + c * WIDTH
    y, f, df = y + (g * STEPS + step) * BATCH, f + c * BATCH, df + c * BATCH
    n = part * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = n < WIDTH
    eps_c, b_n = tl.load(eps + c), tl.load(b + n, inside, 0.0)
    a = tl.load(a0 + n, inside, 0.0) + eps_c * b_n
    change = tl.zeros((ROWS, BLOCK), a0.dtype.element_ty)
    for first in range(0, BATCH, ROWS):
        i = first + tl.arange(0, ROWS)
        used = i < BATCH
        at, there = i[:, None] * WIDTH + n, used[:, None] & inside
        h = tl.load(h0 + at, there, 0.0) + eps_c * tl.load(q + at, there, 0.0)
        df_i = tl.load(df + i, used, 0.0)[:, None]
        tl.store(q + at, tl.where(h > 0, df_i * a, 0.0), there)
        change += df_i * relu(h)
    tl.store(b + n, b_n + tl.sum(change, 0, keep_dims=True), inside)

    if part == 0:
        i = tl.arange(0, EXAMPLES)
        used = i < BATCH
        x, labels = tl.load(f + i, used, 0.0), tl.load(y + i, used, 0.0)
        # Summed in the cell's precision, so that the loss becomes infinite on overflow, as in the other engines.
        total = tl.sum(tl.where(used, cross_entropy(x, labels), 0.0).to(x.dtype), 0)
        tl.store(loss + c * STEPS + step, total.to(tl.float64) / BATCH)
        hits = tl.sum(tl.where(used & ((x > 0) == (labels > 0)), 1, 0), 0)
        tl.store(right + c * STEPS + step, hits.to(tl.float64))


def outputs(t, y, step):
    """Compute f and df of the arrays `t` (trainables.engines.dense.fused.Arrays) at a step of a block with labels y."""
    n, batch, width = t.q.shape
    constants = output_sizes(batch, width, t.q.itemsize)
    grid = (n, triton.cdiv(batch, constants["ROWS"]))
    take_outputs[grid](
        t.h0, t.q, t.a0, t.b, t.eps, t.lr, t.group, y, t.f, t.df, step, STEPS=y.shape[1], **constants, num_warps=WARPS
    )  # fmt: skip


def gradients(t, y, step):
    """Replace q of the arrays `t` by minus the rate times dloss/dh, step b, and fill in the step's loss and right predictions."""
    n, batch, width = t.q.shape
    constants = gradient_sizes(batch, width, t.q.itemsize)
    grid = (n * triton.cdiv(width, constants["BLOCK"]),)
    take_gradients[grid](
        t.h0, t.q, t.a0, t.b, t.eps, t.group, y, t.f, t.df, t.loss, t.right, step, STEPS=y.shape[1], **constants,
        num_warps=TALL_WARPS,
    )  # fmt: skip


def output_sizes(batch: int, width: int, itemsize: int) -> dict[str, int]:
    """Constants of `take_outputs` for B examples and m neurons of some bytes."""
    rows, block = min(ROWS, triton.next_power_of_2(batch)), min(BLOCK_BYTES // itemsize, triton.next_power_of_2(width))
    return {"BATCH": batch, "WIDTH": width, "ROWS": rows, "BLOCK": block}


def gradient_sizes(batch: int, width: int, itemsize: int) -> dict[str, int]:
    """Constants of `take_gradients` for B examples and m neurons of some bytes."""
    examples, block = triton.next_power_of_2(batch), min(NARROW_BYTES // itemsize, triton.next_power_of_2(width))
    return {"BATCH": batch, "EXAMPLES": examples, "WIDTH": width, "ROWS": min(TALL, examples), "BLOCK": block}
