"""The two kernels between the products of a step of `batched` on a GPU. Algebra as in trainables.trainers.centred.

C networks of m neurons see B examples each, those of group g the same ones. Arrays are those of trainables.trainers.fused:
h0 (S, B, m), q (C, B, m), a0, b (C, m), eps, lr (C,), group (C,), y (S, STEPS, B), loss and right (C, STEPS), where STEPS is the
number of steps in a block; df, term and hit (C, B) go from the first kernel to the second: minus the rate times the derivative of
the mean loss by the output, the example's loss, and 1 if the prediction is right.

Both kernels read h0 and q once, the second also writes q; nothing else is as large. A program sums over all neurons of its
examples, or over all examples of its neurons, in a fixed order: the same numbers give the same digits. Cells come first in the
grid, so that programs which read the same rows of h0 run side by side.
"""

import triton
import triton.language as tl

WARPS = 4
ROWS, BLOCK = 8, 512
"""Examples of a program of the first kernel, and neurons that it takes at a time."""
TALL, NARROW = 16, 128
"""Examples that a program of the second kernel takes at a time, and its neurons: a warp reads 512 bytes of a row."""


@triton.jit
def _relu(x):
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)  # divergence is a NaN that must be seen


# The step is not specialised: Triton would compile variants for some steps, and no compiler may run while a graph is recorded.
@triton.jit(do_not_specialize=["step"])
def take_outputs(h0, q, a0, b, eps, lr, group, y, df, term, hit, step, STEPS: tl.constexpr, BATCH: tl.constexpr,
                 WIDTH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Compute df, term and hit from h0 and q."""
    c = tl.program_id(0).to(tl.int64)
    g = tl.load(group + c)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    used = i < BATCH
    eps_c = tl.load(eps + c)
    inv_eps = 1.0 / eps_c
    terms = tl.zeros((ROWS, BLOCK), a0.dtype.element_ty)
    for start in range(0, WIDTH, BLOCK):
        n = start + tl.arange(0, BLOCK)[None, :]
        inside = n < WIDTH
        rows, whole = i[:, None] * WIDTH + n, used[:, None] & inside
        h0_n, q_n = tl.load(h0 + g * BATCH * WIDTH + rows, whole, 0.0), tl.load(q + c * BATCH * WIDTH + rows, whole, 0.0)
        t = -h0_n * inv_eps
        change = tl.maximum(q_n, t, propagate_nan=tl.PropagateNan.ALL) - _relu(t)
        terms += tl.load(b + c * WIDTH + n, inside, 0.0) * _relu(h0_n + eps_c * q_n)
        terms += tl.load(a0 + c * WIDTH + n, inside, 0.0) * change
    f = tl.sum(terms, 1)

    z, label = f.to(tl.float64), tl.load(y + (g * STEPS + step) * BATCH + i, used, 0.0).to(tl.float64)
    e = tl.exp(-tl.abs(z))
    sigmoid = tl.where(z > 0, 1.0, e) / (1.0 + e)
    rate = tl.load(lr + c).to(tl.float64) / BATCH
    own = c * BATCH + i
    tl.store(df + own, (-rate * (sigmoid - label)).to(f.dtype), used)
    tl.store(term + own, (_relu(z) + tl.log(1.0 + e) - label * z).to(f.dtype), used)
    tl.store(hit + own, ((f > 0) == (label > 0)).to(f.dtype), used)


@triton.jit(do_not_specialize=["step"])
def take_gradients(h0, q, a0, b, eps, group, df, term, hit, loss, right, step, STEPS: tl.constexpr, BATCH: tl.constexpr,
                   EXAMPLES: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Replace q by df a 1[h > 0] and step b; a network's first program also sums up its loss and right predictions."""
    c = tl.program_id(0).to(tl.int64)
    g = tl.load(group + c)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = n < WIDTH
    eps_c, b_n = tl.load(eps + c), tl.load(b + c * WIDTH + n, inside, 0.0)
    a = tl.load(a0 + c * WIDTH + n, inside, 0.0) + eps_c * b_n
    change = tl.zeros((ROWS, BLOCK), a0.dtype.element_ty)
    for k in range(0, BATCH, ROWS):
        i = k + tl.arange(0, ROWS)
        used = i < BATCH
        rows, whole = i[:, None] * WIDTH + n, used[:, None] & inside
        at = q + c * BATCH * WIDTH + rows
        h = tl.load(h0 + g * BATCH * WIDTH + rows, whole, 0.0) + eps_c * tl.load(at, whole, 0.0)
        df_i = tl.load(df + c * BATCH + i, used, 0.0)[:, None]
        tl.store(at, tl.where(h > 0, df_i * a, 0.0), whole)
        change += df_i * _relu(h)
    tl.store(b + c * WIDTH + n, b_n + tl.sum(change, 0, keep_dims=True), inside)

    if tl.program_id(1) == 0:
        i = tl.arange(0, EXAMPLES)
        used, own = i < BATCH, c * BATCH + i
        # Summed in the cell's precision, so that the loss becomes infinite on overflow, as in the other engines.
        total = tl.sum(tl.load(term + own, used, 0.0), 0)
        tl.store(loss + c * STEPS + step, total.to(tl.float64) / BATCH)
        tl.store(right + c * STEPS + step, tl.sum(tl.load(hit + own, used, 0.0), 0).to(tl.float64))


def outputs(t, y, step):
    """Compute df, term and hit of the arrays `t` (trainables.trainers.fused.Arrays) at a step of a block with labels y."""
    batch, width = t.q.shape[1:]
    rows, block = min(ROWS, triton.next_power_of_2(batch)), min(BLOCK, triton.next_power_of_2(width))
    take_outputs[(len(t.q), triton.cdiv(batch, rows))](
        t.h0, t.q, t.a0, t.b, t.eps, t.lr, t.group, y, t.df, t.term, t.hit, step, y.shape[1], batch, width, rows, block,
        num_warps=WARPS,
    )  # fmt: skip


def gradients(t, step):
    """Replace q of the arrays `t` by minus the rate times dloss/dh, step b, and fill in the step's loss and right predictions."""
    batch, width = t.q.shape[1:]
    examples = triton.next_power_of_2(batch)
    block = min(NARROW, triton.next_power_of_2(width))
    take_gradients[(len(t.q), triton.cdiv(width, block))](
        t.h0, t.q, t.a0, t.b, t.eps, t.group, t.df, t.term, t.hit, t.loss, t.right, step, t.loss.shape[1], batch, examples, width,
        min(TALL, examples), block, num_warps=WARPS,
    )  # fmt: skip
