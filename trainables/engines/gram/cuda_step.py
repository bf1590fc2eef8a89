"""The step of `gram` on a GPU: one program per network takes many steps in one launch. Algebra as in `cpu_step`.

One launch trains networks of different L, d, gamma and seed; the networks of a group see the same batches. Arrays hold one
network or group after the other, and tables say where each begins. Neurons are padded with zeros to WIDTH, a multiple of BLOCK;
L' is L padded with zeros to a multiple of UNROLL. Of a group, or of a network:
p (2, L', WIDTH)             initial preactivations of the symbols       gram (L', L')   Z Z^T       f0 (L, L)
omega, q, h (2, L', WIDTH)   as there; q and h are working arrays          a0, b (WIDTH)   eps, lr   numbers
plan (T, n)                  the steps, as trainables.kernels.pairs.plan_steps writes them, in 16 bits where these are enough
f, df (PAIRS)                working arrays: output of each pair of the step, and minus the rate times the loss's derivative

Threads exchange numbers through memory, so a barrier separates any two phases of a step. A phase takes TILE rows at a time: their
loads overlap, and their sums over neurons share one exchange.
"""

import triton
import triton.language as tl

from trainables.kernels.card.on_card import score_pairs, terms_of_pairs, whole

TILE = 8
UNROLL = 4
"""Symbols that the sum over the Gram matrix takes at a time."""


@triton.jit
def _preactivate(rows, n_rows, gram, omega, p, eps, literal, q, h, n, n_padded, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
                 TILE: tl.constexpr, UNROLL: tl.constexpr):  # fmt: skip
    """Compute h of the symbols in `rows` for neurons n, and q unless the output is literal; the last tile may repeat a symbol."""
    for k in range(0, n_rows, TILE):
        r = whole(rows + tl.minimum(k + tl.arange(0, TILE), n_rows - 1))
        x = tl.zeros((TILE, BLOCK), omega.dtype.element_ty)
        for j in range(0, n_padded, UNROLL):
            for i in tl.static_range(UNROLL):
                x += tl.load(gram + r * n_padded + j + i)[:, None] * tl.load(omega + (j + i) * WIDTH + n)
        at = r[:, None] * WIDTH + n
        if literal == 0:
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
        f += tl.sum(terms_of_pairs(first, second, used_rows, literal, p, q, h, a0_n, b_n, eps), 1)
    return f


@triton.jit
def _follow(rows, n_rows, starts, order, partner, h_own, h_other, omega, df, a, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
            TILE: tl.constexpr):  # fmt: skip
    """Step omega of one half and return the half's share of the step of b. `order` lists the pairs symbol by symbol."""
    gb = tl.zeros((1, BLOCK), omega.dtype.element_ty)
    for i in range(n_rows):
        r = whole(rows + i)
        start, end = whole(starts + i), whole(starts + i + 1)
        own = tl.load(h_own + r * WIDTH + n)
        on = tl.zeros((1, BLOCK), omega.dtype.element_ty)
        for k in range(start, end, TILE):  # the pairs that hold this symbol
            at = k + tl.arange(0, TILE)
            used = at < end
            pair, other = whole(order + at, used), whole(partner + at, used)
            h = own + tl.load(h_other + other[:, None] * WIDTH + n, used[:, None], 0.0)
            on += tl.sum(tl.where(h > 0, tl.load(df + pair, used, 0.0)[:, None], 0.0), 0, keep_dims=True)
        gb += own * on
        at_omega = omega + r * WIDTH + n
        tl.store(at_omega, tl.load(at_omega) + a * on)
    return gb


# All launches must use one binary: another one may round differently, and f0 is then useless. So Triton must not compile a
# variant for a special number, or for a pointer into the middle of an array.
@triton.jit(do_not_specialize=["first_step", "n_steps", "n_planned", "n_total", "skipped", "n_pairs_recorded"],
            do_not_specialize_on_alignment=["loss", "right"])  # fmt: skip
def train_steps(programs, networks, groups, plan, f0, p, gram, omega, q, h, a0, b, eps, lr, f, df, loss, right,
                first_step, n_steps, n_planned, n_total, skipped, n_pairs_recorded,
                BATCH: tl.constexpr, PAIRS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
                TILE: tl.constexpr, UNROLL: tl.constexpr):  # fmt: skip
    """Take n_steps steps in place, from step `skipped` of a plan of n_planned.

    programs (n, 2) int64: the network of each program, and the first pair that it records. Rows of the tables, int64:
    networks (C, 3) hold a network's group, its first row of WIDTH numbers in omega, q and h, and whether its output is literal;
    groups (G, 6) hold L, L', the first row in p, and the first number in gram, f0 and a step's plan.

    loss, right (C, n_total) float64 receive mean loss and right predictions before each step, from column first_step on.
    The literal output is the difference from the initial sums in f0. With n_pairs_recorded > 0 the same code records so many of
    them instead of training, given p in place of q and h: then the difference is exactly zero before the first step.
    """
    c = tl.load(programs + 2 * tl.program_id(0))
    first_pair = tl.load(programs + 2 * tl.program_id(0) + 1).to(tl.int32)
    records = n_pairs_recorded > 0
    g, row, literal = tl.load(networks + 3 * c), tl.load(networks + 3 * c + 1), tl.load(networks + 3 * c + 2).to(tl.int32)
    groups += 6 * g
    n_symbols, n_padded, row_p = tl.load(groups).to(tl.int32), tl.load(groups + 1).to(tl.int32), tl.load(groups + 2)
    gram, f0 = gram + tl.load(groups + 3), f0 + tl.load(groups + 4)
    half, most = n_padded * WIDTH, tl.minimum(BATCH, n_symbols)
    a_step = 6 * BATCH + 4 * most + 5
    plan += tl.load(groups + 5) * n_planned + skipped * a_step
    p, omega = p + row_p * WIDTH, omega + row * WIDTH
    q, h = q + tl.where(records, row_p, row) * WIDTH, h + tl.where(records, row_p, row) * WIDTH
    a0, b, f, df = a0 + c * WIDTH, b + c * WIDTH, f + c * PAIRS, df + c * PAIRS
    loss, right = loss + c * n_total + first_step, right + c * n_total + first_step
    eps, lr = tl.load(eps + c), tl.load(lr + c)
    for t in range(n_steps):
        n_pairs = tl.minimum(n_pairs_recorded, n_symbols * n_symbols - first_pair) if records else whole(plan)
        u_of, times_of, halves = plan + 3, plan + 3 + BATCH, plan + 3 + 2 * BATCH  # of a half: symbols, starts, order, partners
        v_of = halves + 2 * most + 1 + BATCH

        if not records:
            for start in range(0, WIDTH, BLOCK):
                n = start + tl.arange(0, BLOCK)[None, :]  # rows are (1, BLOCK), so that all have the same layout over threads
                for s in tl.static_range(2):
                    rows, at = halves + s * (2 * most + 1 + 2 * BATCH), s * half
                    _preactivate(rows, whole(plan + 1 + s), gram, omega + at, p + at, eps, literal, q + at, h + at, n, n_padded,
                                 WIDTH, BLOCK, TILE, UNROLL)  # fmt: skip
            tl.debug_barrier()

        for k in range(0, n_pairs, TILE):
            i = k + tl.arange(0, TILE)
            used = i < n_pairs
            if records:
                u, v = (first_pair + i) // n_symbols, (first_pair + i) % n_symbols
            else:
                u, v = whole(u_of + i, used), whole(v_of + i, used)
            x = _sums(u, v, used, literal, p, q, h, a0, b, eps, half, WIDTH, BLOCK, TILE)
            if records:
                tl.store(f0 + first_pair + i, x, used)
            else:
                tl.store(f + i, x, used)
        tl.debug_barrier()

        if not records:
            i = tl.arange(0, PAIRS)
            used = i < n_pairs
            u, v, times = whole(u_of + i, used), whole(v_of + i, used), whole(times_of + i, used)
            x = tl.load(f + i, used, 0.0)
            if literal:
                x = (x - tl.load(f0 + u * n_symbols + v, used, 0.0)) * (1.0 / eps)
            score_pairs(x, u, v, times, used, lr, loss + t, right + t, df + i, BATCH)
            tl.debug_barrier()

            for start in range(0, WIDTH, BLOCK):
                n = start + tl.arange(0, BLOCK)[None, :]
                b_n = tl.load(b + n)
                a = tl.load(a0 + n) + eps * b_n
                for s in tl.static_range(2):
                    rows, own, other = halves + s * (2 * most + 1 + 2 * BATCH), h + s * half, h + (1 - s) * half
                    order = rows + 2 * most + 1
                    b_n += _follow(rows, whole(plan + 1 + s), rows + most, order, order + BATCH, own, other, omega + s * half,
                                   df, a, n, WIDTH, BLOCK, TILE)  # fmt: skip
                tl.store(b + n, b_n)
            tl.debug_barrier()
            plan += a_step
