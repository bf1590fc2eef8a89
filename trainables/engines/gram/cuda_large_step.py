"""The step of `gram` on a GPU for many symbols: two launches a step for all networks, with products on tensor cores.

`advance` runs one program for each network and BLOCK of its neurons. It applies the step before, then computes the preactivations
of the next step's symbols and its block's share of the outputs. `score` runs one program for each network, adds these shares, and
computes loss, right predictions and slopes. So the trained numbers are read once a step for all symbols of a half together.

The scaled changes U_s (d, m), s = 0, 1, of the weights are Z^T omega_s (`cpu_step`), and a symbol's preactivation changes by
q = Z U_s = (Z Z^T) omega_s. A network trains v = omega through the Gram matrix M = Z Z^T, or v = U through M = Z where
d is so small that Z costs less; K is L or d. Arrays hold one network or group after the other, and tables say where each begins.
Neurons are padded with zeros to WIDTH, a multiple of BLOCK; K' is K padded with zeros to a multiple of CHUNK. Of each:
p (2, L, WIDTH)        initial preactivations of the symbols           matrices (L, K')   M          f0 (L, L)
v (2, K', WIDTH)       what is trained: q = M v, h = p + eps q         a0, b (WIDTH)     eps, lr    numbers
q, h (2, L, WIDTH)     working arrays; q only for a lazy output, and for the changes of U
plan (T, n)            the steps, as trainables.kernels.pairs.plan_steps writes them
shares (BLOCKS, PAIRS) working array: each block's share of the outputs of the step's pairs
df (PAIRS)             minus the rate times the loss's derivative by each output

`now` (2) int64 holds the number of steps in the plan, and its step that t = 0 stands for: a recorded launch takes any step.
"""

import triton
import triton.language as tl

from trainables.kernels.card.on_card import score_pairs, terms_of_pairs, whole


@triton.jit
def _plan(plan, groups, now, t, a_step):
    """Where step t of a group is planned."""
    return plan + tl.load(groups + 5) * tl.load(now) + (tl.load(now + 1) + t) * a_step


@triton.jit
def _preactivate(rows, n_rows, matrix, n_coords, v, p, eps, keeps_q, q, h, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
                 ROWS: tl.constexpr, CHUNK: tl.constexpr, ON_CORES: tl.constexpr):  # fmt: skip
    """Compute h of the symbols in `rows` for neurons n, and q where it is kept."""
    for k in range(0, n_rows, ROWS):
        i = k + tl.arange(0, ROWS)
        used = (i < n_rows)[:, None]
        r = whole(rows + i, i < n_rows)[:, None]
        x = tl.zeros((ROWS, BLOCK), v.dtype.element_ty)
        for j in tl.range(0, n_coords, CHUNK, num_stages=3 if ON_CORES else 1):  # the next two chunks are on their way
            if ON_CORES:
                c = j + tl.arange(0, CHUNK)
                m, v_c = tl.load(matrix + r * n_coords + c[None, :]), tl.load(v + c[:, None] * WIDTH + n)
                x = tl.dot(m, v_c, x, input_precision="tf32x3")
            else:
                for e in tl.static_range(CHUNK):
                    x += tl.load(matrix + r * n_coords + j + e) * tl.load(v + (j + e) * WIDTH + n)
        at = r * WIDTH + n
        if keeps_q:
            tl.store(q + at, x, used)
        tl.store(h + at, tl.load(p + at, used, 0.0) + eps * x, used)


@triton.jit
def _share(u, v, used, literal, p, q, h, a0, b, eps, half, n, WIDTH: tl.constexpr):
    """The sum over neurons n of a relu(h) for each pair if the output is taken literally, else of the centred output; (TILE,)."""
    used = used[:, None]
    first, second = u[:, None] * WIDTH + n, half + v[:, None] * WIDTH + n
    return tl.sum(terms_of_pairs(first, second, used, literal, p, q, h, a0, b, eps), 1)


@triton.jit
def _follow(rows, n_rows, starts, order, partner, h_own, h_other, omega, kept, is_z, df, a, n, WIDTH: tl.constexpr,
            BLOCK: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """Step omega of one half, or write its change to `kept` if U is trained. Returns the half's share of the step of b.

    A tile of symbols takes its first pairs together, then its second ones: most symbols of a batch have few.
    """
    gb = tl.zeros((TILE, BLOCK), h_own.dtype.element_ty)
    for k in range(0, n_rows, TILE):
        i = k + tl.arange(0, TILE)
        r, start, end = whole(rows + i, i < n_rows), whole(starts + i, i < n_rows), whole(starts + i + 1, i < n_rows)
        used, at = (i < n_rows)[:, None], r[:, None] * WIDTH + n
        own = tl.load(h_own + at, used, 0.0)
        on = tl.zeros((TILE, BLOCK), h_own.dtype.element_ty)
        for j in range(0, tl.max(end - start, 0)):
            has = start + j < end
            pair, other = whole(order + start + j, has), whole(partner + start + j, has)
            h = own + tl.load(h_other + other[:, None] * WIDTH + n, has[:, None], 0.0)
            on += tl.where(h > 0, tl.load(df + pair, has, 0.0)[:, None], 0.0)
        gb += own * on
        if is_z:
            tl.store(kept + at, a * on, used)
        else:
            tl.store(omega + at, tl.load(omega + at, used, 0.0) + a * on, used)
    return tl.sum(gb, 0, keep_dims=True)


@triton.jit
def _collect(rows, n_rows, z, n_coords, change, u, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr, COORDS: tl.constexpr,
             CHUNK: tl.constexpr, ON_CORES: tl.constexpr):  # fmt: skip
    """U += Z^T of the changes of omega that `_follow` wrote for the symbols in `rows`."""
    for j in range(0, n_coords, COORDS):
        c = j + tl.arange(0, COORDS)
        inside = (c < n_coords)[:, None]
        x = tl.zeros((COORDS, BLOCK), u.dtype.element_ty)
        for k in range(0, n_rows, CHUNK):
            if ON_CORES:
                i = k + tl.arange(0, CHUNK)
                r = whole(rows + i, i < n_rows)
                z_r = tl.load(z + r[None, :] * n_coords + c[:, None], inside & (i < n_rows)[None, :], 0.0)
                change_r = tl.load(change + r[:, None] * WIDTH + n, (i < n_rows)[:, None], 0.0)
                x = tl.dot(z_r, change_r, x, input_precision="tf32x3")
            else:
                for e in tl.static_range(CHUNK):
                    used = k + e < n_rows
                    r = whole(rows + k + e, used)
                    z_r = tl.load(z + r * n_coords + c[:, None], inside & used, 0.0)
                    x += z_r * tl.load(change + r * WIDTH + n, used, 0.0)
        at = c[:, None] * WIDTH + n
        tl.store(u + at, tl.load(u + at, inside, 0.0) + x, inside)


# All launches must use one binary: another one may round differently, and f0 is then useless.
@triton.jit(do_not_specialize=["t", "updates", "continues", "records"])
def advance(programs, networks, groups, now, plan, p, matrices, v, q, h, a0, b, eps, df, shares, t, updates, continues, records,
            BATCH: tl.constexpr, PAIRS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
            COORDS: tl.constexpr, CHUNK: tl.constexpr, TILE: tl.constexpr, ON_CORES: tl.constexpr):  # fmt: skip
    """Apply step t - 1 if `updates`, then compute the shares of the outputs of step t if `continues`.

    programs (n, 2) int64: the network of each program, and the first pair that it records. Rows of the tables, int64:
    networks (C, 5) hold a network's group, its first rows of WIDTH numbers in v, h and q, and whether its output is literal;
    groups (G, 7) hold L, K', the first row in p, the first number in matrices, f0 and a step's plan, and whether M is Z.

    With `records`, given p in place of h and q, it computes shares of a0 relu(p) of PAIRS pairs of symbols instead.
    """
    block, row = tl.program_id(0), tl.program_id(1)
    c, first_pair = tl.load(programs + 2 * row), tl.load(programs + 2 * row + 1).to(tl.int32)
    networks += 5 * c
    groups += 7 * tl.load(networks)
    literal = tl.load(networks + 4).to(tl.int32)
    n_symbols, n_coords, row_p = tl.load(groups).to(tl.int32), tl.load(groups + 1).to(tl.int32), tl.load(groups + 2)
    is_z = tl.load(groups + 6).to(tl.int32)
    half, half_v, most = n_symbols * WIDTH, n_coords * WIDTH, tl.minimum(BATCH, n_symbols)
    a_step = 6 * BATCH + 4 * most + 5
    a_half = 2 * most + 1 + 2 * BATCH
    plan = _plan(plan, groups, now, t, a_step)
    matrices += tl.load(groups + 3)
    p, v = p + row_p * WIDTH, v + tl.load(networks + 1) * WIDTH
    h += tl.where(records != 0, row_p, tl.load(networks + 2)) * WIDTH
    q += tl.where(records != 0, row_p, tl.load(networks + 3)) * WIDTH
    a0, b, df = a0 + c * WIDTH, b + c * WIDTH, df + c * PAIRS
    shares += (row * tl.num_programs(0) + block) * PAIRS
    eps = tl.load(eps + c)
    n = block * BLOCK + tl.arange(0, BLOCK)[None, :]
    a0_n, b_n = tl.load(a0 + n), tl.load(b + n)

    if updates:
        done = plan - a_step
        a = a0_n + eps * b_n
        for s in tl.static_range(2):
            rows, n_rows = done + 3 + 2 * BATCH + s * a_half, whole(done + 1 + s)
            order = rows + 2 * most + 1
            own, other = s * half, (1 - s) * half
            b_n += _follow(rows, n_rows, rows + most, order, order + BATCH, h + own, h + other, v + s * half_v, q + own, is_z, df,
                           a, n, WIDTH, BLOCK, TILE)  # fmt: skip
        tl.store(b + n, b_n)
        tl.debug_barrier()  # threads exchange numbers through memory
        if is_z:
            for s in tl.static_range(2):
                _collect(done + 3 + 2 * BATCH + s * a_half, whole(done + 1 + s), matrices, n_coords, q + s * half,
                         v + s * half_v, n, WIDTH, BLOCK, COORDS, CHUNK, ON_CORES)  # fmt: skip
            tl.debug_barrier()

    if continues:
        for s in tl.static_range(2):
            rows, at = plan + 3 + 2 * BATCH + s * a_half, s * half
            _preactivate(rows, whole(plan + 1 + s), matrices, n_coords, v + s * half_v, p + at, eps, literal == 0, q + at,
                         h + at, n, WIDTH, BLOCK, ROWS, CHUNK, ON_CORES)  # fmt: skip
        tl.debug_barrier()

    n_pairs = tl.minimum(PAIRS, n_symbols * n_symbols - first_pair) if records else whole(plan, continues != 0)
    u_of, v_of = plan + 3, plan + 3 + 2 * BATCH + 2 * most + 1 + BATCH
    for k in range(0, n_pairs, TILE):
        i = k + tl.arange(0, TILE)
        used = i < n_pairs
        if records:
            first, second = (first_pair + i) // n_symbols, (first_pair + i) % n_symbols
        else:
            first, second = whole(u_of + i, used), whole(v_of + i, used)
        x = _share(first, second, used, literal, p, q, h, a0_n, b_n, eps, half, n, WIDTH)
        tl.store(shares + i, x, used)


@triton.jit(do_not_specialize=["t", "n_total", "records"])
def score(programs, networks, groups, now, plan, f0, eps, lr, df, shares, loss, right, t, n_total, records,
          BATCH: tl.constexpr, PAIRS: tl.constexpr, BLOCKS: tl.constexpr):  # fmt: skip
    """Loss, right predictions and slopes of step t, from shares of the outputs; tables as for `advance`.

    loss, right (C, n_total) float64 receive mean loss and right predictions before step t in column t. The literal output is the
    difference from the initial sums in f0; with `records` it writes those of PAIRS pairs there instead.
    """
    row = tl.program_id(0)
    c, first_pair = tl.load(programs + 2 * row), tl.load(programs + 2 * row + 1).to(tl.int32)
    groups += 7 * tl.load(networks + 5 * c)
    n_symbols = tl.load(groups).to(tl.int32)
    plan = _plan(plan, groups, now, t, 6 * BATCH + 4 * tl.minimum(BATCH, n_symbols) + 5)
    f0 += tl.load(groups + 4)
    n_pairs = tl.minimum(PAIRS, n_symbols * n_symbols - first_pair) if records else whole(plan)
    i = tl.arange(0, PAIRS)
    used = i < n_pairs
    x = tl.zeros((PAIRS,), shares.dtype.element_ty)
    for k in range(BLOCKS):  # in this order always
        x += tl.load(shares + (row * BLOCKS + k) * PAIRS + i, used, 0.0)
    if records:
        tl.store(f0 + first_pair + i, x, used)
    else:
        u, times = whole(plan + 3 + i, used), whole(plan + 3 + BATCH + i, used)
        v = whole(plan + 4 + 3 * BATCH + 2 * tl.minimum(BATCH, n_symbols) + i, used)
        if tl.load(networks + 5 * c + 4) != 0:
            x = (x - tl.load(f0 + u * n_symbols + v, used, 0.0)) * (1.0 / tl.load(eps + c))
        at = c * n_total + t
        score_pairs(x, u, v, times, used, tl.load(lr + c), loss + at, right + at, df + c * PAIRS + i, BATCH)
