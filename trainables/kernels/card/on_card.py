"""Arithmetic that the kernels for GPUs share; notation of trainables.trainers.centred."""

import triton
import triton.language as tl


@triton.jit
def relu(x):
    """x where it is positive, else 0; NaN stays NaN."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)  # divergence is a NaN that must be seen


@triton.jit
def slope(f, y):
    """Derivative of the cross entropy of labels y by outputs f, in float64."""
    e = tl.exp(-tl.abs(f.to(tl.float64)))
    return tl.where(f > 0, 1.0, e) / (1.0 + e) - y.to(tl.float64)


@triton.jit
def cross_entropy(f, y):
    """Loss of outputs f with labels y, in float64."""
    z = f.to(tl.float64)
    return relu(z) + tl.log(1.0 + tl.exp(-tl.abs(z))) - y.to(tl.float64) * z


@triton.jit
def whole(at, used=None):
    """Numbers of a plan (trainables.kernels.pairs.plan_steps), or 0 where they are not used."""
    return (tl.load(at) if used is None else tl.load(at, used, 0)).to(tl.int32)


@triton.jit
def terms_of_pairs(first, second, used, literal, p, q, h, a0, b, eps):
    """Each neuron's term of the outputs of pairs whose symbols stand at `first` and `second`: a relu(h) if the output is taken
    literally, else that of the centred output."""
    on = relu(tl.load(h + first, used, 0.0) + tl.load(h + second, used, 0.0))
    if literal:
        terms = (a0 + eps * b) * on
    else:
        inv_eps = 1.0 / eps
        q_pair = tl.load(q + first, used, 0.0) + tl.load(q + second, used, 0.0)
        t = -(tl.load(p + first, used, 0.0) + tl.load(p + second, used, 0.0)) * inv_eps
        change = tl.maximum(q_pair, t, propagate_nan=tl.PropagateNan.ALL) - relu(t)
        terms = b * on + a0 * change
    return terms


@triton.jit
def score_pairs(x, u, v, times, used, lr, loss, right, df, BATCH: tl.constexpr):
    """Store mean loss, right predictions and minus the rate times the slopes, from outputs x of pairs (u, v) and their counts."""
    same = tl.where(u == v, 1.0, 0.0).to(tl.float64)
    # Summed in the cell's precision, so that the loss becomes infinite on overflow, as in the other engines.
    total = tl.sum(tl.where(used, times * cross_entropy(x, same), 0.0).to(x.dtype), 0)
    tl.store(loss, total.to(tl.float64) / BATCH)
    tl.store(right, tl.sum(tl.where((x > 0) == (u == v), times, 0), 0).to(tl.float64))
    tl.store(df, (-lr.to(tl.float64) * times / BATCH * slope(x, same)).to(x.dtype), used)
