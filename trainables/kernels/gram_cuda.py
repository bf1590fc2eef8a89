"""The step of `gram` on a GPU: one program per network takes many steps in one launch. Algebra as in trainables.kernels.gram.

Arrays of C networks in G groups; the networks of a group see the same batches. Neurons are padded with zeros to WIDTH, a
multiple of BLOCK; L' is L padded with zeros to a multiple of UNROLL:
p (G, 2, L', WIDTH)             initial preactivations of the symbols       gram (G, L', L')   Z Z^T       f0 (G, L, L)
omega, q, h (C, 2, L', WIDTH)   as there; q and h are working arrays          a0, b (C, WIDTH)   eps, lr (C,)
plan (G, T, n)                  the steps, as trainables.kernels.pairs.plan_steps writes them
f, df (C, PAIRS)                working arrays: output of each pair of the step, and minus the rate times the loss's derivative

Threads exchange numbers through memory, so a barrier separates any two phases of a step. A phase takes TILE rows at a time: their
loads overlap, and their sums over neurons share one exchange.
"""

import triton
import triton.language as tl

TILE = 8
UNROLL = 4
"""Symbols that the sum over the Gram matrix takes at a time."""


@triton.jit
def _relu(x):
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)  # divergence is a NaN that must be seen


@triton.jit
def _preactivate(rows, n_rows, gram, omega, p, eps, q, h, n, N_SYMBOLS, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
                 TILE: tl.constexpr, UNROLL: tl.constexpr):  # fmt: skip
    """Compute q and h of the symbols in `rows` for neurons n; the last tile may repeat a symbol."""
    for k in range(0, n_rows, TILE):
        r = tl.load(rows + tl.minimum(k + tl.arange(0, TILE), n_rows - 1))
        x = tl.zeros((TILE, BLOCK), omega.dtype.element_ty)
        for j in range(0, N_SYMBOLS, UNROLL):
            for i in tl.static_range(UNROLL):
                x += tl.load(gram + r * N_SYMBOLS + j + i)[:, None] * tl.load(omega + (j + i) * WIDTH + n)
        at = r[:, None] * WIDTH + n
        tl.store(q + at, x)
        tl.store(h + at, tl.load(p + at) + eps * x)


@triton.jit
def _sums(u, v, used, literal, p, q, h, a0, b, eps, HALF, WIDTH: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr):
    """The sum of a relu(h) for each pair if the output is taken literally, else the centred output; (TILE,)."""
    f = tl.zeros((TILE,), a0.dtype.element_ty)
    for start in range(0, WIDTH, BLOCK):
        n = start + tl.arange(0, BLOCK)[None, :]
        first, second = u[:, None] * WIDTH + n, HALF + v[:, None] * WIDTH + n
        used_rows = used[:, None]
        a0_n, b_n = tl.load(a0 + n), tl.load(b + n)
        relu = _relu(tl.load(h + first, used_rows, 0.0) + tl.load(h + second, used_rows, 0.0))
        if literal:
            terms = (a0_n + eps * b_n) * relu
        else:
            inv_eps = 1.0 / eps
            q_pair = tl.load(q + first, used_rows, 0.0) + tl.load(q + second, used_rows, 0.0)
            t = -(tl.load(p + first, used_rows, 0.0) + tl.load(p + second, used_rows, 0.0)) * inv_eps
            change = tl.maximum(q_pair, t, propagate_nan=tl.PropagateNan.ALL) - _relu(t)
            terms = b_n * relu + a0_n * change
        f += tl.sum(terms, 1)
    return f


@triton.jit
def _follow(rows, n_rows, starts, order, partner, h_own, h_other, omega, df, a, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
            TILE: tl.constexpr):  # fmt: skip
    """Step omega of one half and return the half's share of the step of b. `order` lists the pairs symbol by symbol."""
    gb = tl.zeros((1, BLOCK), omega.dtype.element_ty)
    for i in range(n_rows):
        r = tl.load(rows + i)
        start, end = tl.load(starts + i), tl.load(starts + i + 1)
        own = tl.load(h_own + r * WIDTH + n)
        on = tl.zeros((1, BLOCK), omega.dtype.element_ty)
        for k in range(start, end, TILE):  # the pairs that hold this symbol
            at = k + tl.arange(0, TILE)
            used = at < end
            pair, other = tl.load(order + at, used, 0), tl.load(partner + at, used, 0)
            h = own + tl.load(h_other + other[:, None] * WIDTH + n, used[:, None], 0.0)
            on += tl.sum(tl.where(h > 0, tl.load(df + pair, used, 0.0)[:, None], 0.0), 0, keep_dims=True)
        gb += own * on
        at_omega = omega + r * WIDTH + n
        tl.store(at_omega, tl.load(at_omega) + a * on)
    return gb


# All launches must use one binary: another one may round differently, and f0 is then useless. So Triton must not compile a
# variant for a special number, or for a pointer into the middle of an array.
@triton.jit(do_not_specialize=["first_step", "n_steps", "n_planned", "n_total", "record", "n_symbols", "most"],
            do_not_specialize_on_alignment=["loss", "right"])  # fmt: skip
def train_steps(cells, groups, literals, plan, f0, p, gram, omega, q, h, a0, b, eps, lr, f, df, loss, right,
                first_step, n_steps, n_planned, n_total, record, n_symbols, most,
                PADDED: tl.constexpr, BATCH: tl.constexpr, PAIRS: tl.constexpr, WIDTH: tl.constexpr,
                BLOCK: tl.constexpr, TILE: tl.constexpr, UNROLL: tl.constexpr):  # fmt: skip
    """Take the first n_steps steps of a plan of n_planned in place; `cells` names the network of each program.

    loss, right (C, n_total) float64 receive mean loss and right predictions before each step, from column first_step on.
    For networks with a nonzero entry in `literals` (C,) the centred output is the literal difference from the initial sums in f0.
    This same code records those sums (with `record` it writes f0 instead of reading it), so that the difference is exactly zero
    before the first step. `most` is R of `plan_steps`.
    """
    half: tl.constexpr = PADDED * WIDTH
    c = tl.load(cells + tl.program_id(0)).to(tl.int64)
    g = tl.load(groups + c).to(tl.int64)
    plan += g * n_planned * (6 * BATCH + 4 * most + 5)
    p, gram, f0 = p + g * 2 * half, gram + g * PADDED * PADDED, f0 + g * n_symbols * n_symbols
    omega, q, h = omega + c * 2 * half, q + c * 2 * half, h + c * 2 * half
    a0, b, f, df = a0 + c * WIDTH, b + c * WIDTH, f + c * PAIRS, df + c * PAIRS
    loss, right = loss + c * n_total + first_step, right + c * n_total + first_step
    eps, lr = tl.load(eps + c), tl.load(lr + c)
    literal = tl.load(literals + c) != 0
    for t in range(n_steps):
        n_pairs = tl.load(plan)
        u_of, times_of, halves = plan + 3, plan + 3 + BATCH, plan + 3 + 2 * BATCH  # of a half: symbols, starts, order, partners
        v_of = halves + 2 * most + 1 + BATCH

        for start in range(0, WIDTH, BLOCK):
            n = start + tl.arange(0, BLOCK)[None, :]  # rows are (1, BLOCK), so that all have the same layout over threads
            for s in tl.static_range(2):
                rows, at = halves + s * (2 * most + 1 + 2 * BATCH), s * half
                _preactivate(rows, tl.load(plan + 1 + s), gram, omega + at, p + at, eps, q + at, h + at, n, PADDED, WIDTH, BLOCK,
                             TILE, UNROLL)  # fmt: skip
        tl.debug_barrier()

        for k in range(0, n_pairs, TILE):
            i = k + tl.arange(0, TILE)
            used = i < n_pairs
            u, v = tl.load(u_of + i, used, 0), tl.load(v_of + i, used, 0)
            tl.store(f + i, _sums(u, v, used, literal, p, q, h, a0, b, eps, half, WIDTH, BLOCK, TILE), used)
        tl.debug_barrier()

        i = tl.arange(0, PAIRS)
        used = i < n_pairs
        u, v = tl.load(u_of + i, used, 0), tl.load(v_of + i, used, 0)
        times = tl.load(times_of + i, used, 0)
        x = tl.load(f + i, used, 0.0)
        if literal:
            if record:
                tl.store(f0 + u * n_symbols + v, x, used)
            else:
                x = (x - tl.load(f0 + u * n_symbols + v, used, 0.0)) * (1.0 / eps)
        y, same = x.to(tl.float64), tl.where(u == v, 1.0, 0.0).to(tl.float64)
        e = tl.exp(-tl.abs(y))
        sigmoid = tl.where(y > 0, 1.0, e) / (1.0 + e)
        term = times * (_relu(y) + tl.log(1.0 + e) - same * y)
        # Summed in the cell's precision, so that the loss becomes infinite on overflow, as in the other engines.
        total = tl.sum(tl.where(used, term, 0.0).to(x.dtype), 0)
        tl.store(loss + t, total.to(tl.float64) / BATCH)
        tl.store(right + t, tl.sum(tl.where((x > 0) == (u == v), times, 0), 0).to(tl.float64))
        tl.store(df + i, (-lr.to(tl.float64) * times / BATCH * (sigmoid - same)).to(x.dtype), used)
        tl.debug_barrier()

        for start in range(0, WIDTH, BLOCK):
            n = start + tl.arange(0, BLOCK)[None, :]
            b_n = tl.load(b + n)
            a = tl.load(a0 + n) + eps * b_n
            for s in tl.static_range(2):
                rows, own, other = halves + s * (2 * most + 1 + 2 * BATCH), h + s * half, h + (1 - s) * half
                order = rows + 2 * most + 1
                b_n += _follow(rows, tl.load(plan + 1 + s), rows + most, order, order + BATCH, own, other, omega + s * half, df,
                               a, n, WIDTH, BLOCK, TILE)  # fmt: skip
            tl.store(b + n, b_n)
        tl.debug_barrier()
        plan += 6 * BATCH + 4 * most + 5
