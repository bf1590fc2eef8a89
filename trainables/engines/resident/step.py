"""The compiled steps of `resident`: one network after the other takes many steps.

Notation of trainables.networks.layered, layers counted from 0. A network's parameters (P,) lie in one row. A product goes row by
row over h (B, fan-in), so that every sum depends on the network alone, not on those beside it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from trainables.kernels.activations import erf, exp_of_negative, tanh
from trainables.kernels.compiled import unchecked, unchecked_inline
from trainables.kernels.matmul import VECTOR_BYTES, multiply, transpose
from trainables.kernels.neuron import logistic
from trainables.kernels.optimisers import follow_moments

RELU, TANH, LINEAR, ERF, QUADRATIC = range(5)
LAST_IN_PLACE = LINEAR
"""The last activation whose slope follows from its value, so that it may overwrite its argument."""
LOGISTIC, SURPRISE, SQUARED = range(3)
SIGN, GREATEST, NEITHER = range(3)
DESCENT, ADAM, SIGNS = range(3)


class Layers(NamedTuple):
    """The shape of a network of L layers, the readout among them."""

    sizes: Any
    """(L + 1,) numbers of inputs, neurons and outputs."""
    w_at: Any
    """(L,) where the weights of each layer begin in a row of parameters; `b_at` (L,): the biases, -1 for a layer without."""
    b_at: Any
    factors: Any
    """(L,) c_l."""
    activation: int
    lowest: int
    """The first layer that is trained."""


class Examples(NamedTuple):
    """Batches of one group of networks, as places in R examples."""

    x: Any
    """(R, D) inputs; (0, 0) where they are rows of a table."""
    y: Any
    """(R, K), what the loss compares with: labels 0 and 1, unit vectors of classes, or the numbers that outputs shall have."""
    order: Any
    """(N, B) the places of each batch, or (1, B) if all are the same."""
    in_order: bool
    """True if the examples of every batch follow each other in x."""
    table: Any
    """(M, D) bytes; input i is its row rows[i], a byte b as of_bytes[b], with front[i] (k,) in place of the first k numbers."""
    rows: Any
    front: Any
    of_bytes: Any
    """(256,) float32."""


class Rule(NamedTuple):
    """How C networks learn."""

    loss: int
    right: int
    """How a prediction is right."""
    optimiser: int
    rates: Any
    """(C, L, 2) learning rates of weights and of biases."""
    decay: Any
    """(C,); `momentum` (C,); `keep` (3,) as `Adam.kept`."""
    momentum: Any
    keep: Any
    scheduled: Any
    """(N, .) numbers of `Descent.scheduled` for each batch; `has_factor`: whether the first is a factor of the learning rate."""
    has_factor: bool
    inv_epsilon: Any
    """(C,)."""


@unchecked_inline
def _activate(z, h, activation):
    """h <- phi(z). Where the slope follows from h alone, z and h are one array: a loop that read one name and wrote the other
    would compare their places in memory, and go number by number."""
    real = h.dtype.type
    zero = real(0)
    if activation == RELU:
        for i in range(len(h)):
            h[i] = zero if h[i] < zero else h[i]  # a NaN stays one
    elif activation == TANH:
        for i in range(len(h)):
            h[i] = tanh(h[i], real)
    elif activation == ERF:
        for i in range(len(h)):
            h[i] = erf(z[i], real)
    elif activation == QUADRATIC:
        for i in range(len(h)):
            h[i] = z[i] * z[i]


@unchecked_inline
def _multiply_by_slope(dh, z, h, activation):
    """dL/dz from dL/dh, in place."""
    real = h.dtype.type
    zero, one, two, height = real(0), real(1), real(2), real(2 / math.sqrt(math.pi))
    if activation == RELU:
        for i in range(len(h)):
            before = dh[i]
            dh[i] = before if h[i] > zero else zero
    elif activation == TANH:
        for i in range(len(h)):
            dh[i] *= one - h[i] * h[i]
    elif activation == ERF:
        for i in range(len(h)):
            dh[i] *= height * exp_of_negative(-z[i] * z[i], real)
    elif activation == QUADRATIC:
        for i in range(len(h)):
            dh[i] *= two * z[i]


@unchecked_inline
def _add_to_rows(z, b):
    """Add b (m,) to each row of the flat z (n, m)."""
    for start in range(0, len(z), len(b)):
        row = z[start : start + len(b)]
        for j in range(len(b)):
            row[j] += b[j]


@unchecked_inline
def _sum_rows(z, b):
    """b (m,) <- the sum of the rows of the flat z (n, m)."""
    for j in range(len(b)):
        b[j] = 0
    for start in range(0, len(z), len(b)):
        row = z[start : start + len(b)]
        for j in range(len(b)):
            b[j] += row[j]


@unchecked
def _pass(own, x, start, batch, layers, z, h, turned, f):
    """Fill f (B, K) with g of a network at B inputs, which follow each other in the flat x from `start`, and on the way z and h
    (flat, hidden layers one after the other); `turned` is room for the readout's weights."""
    last, at = len(layers.factors) - 1, 0
    a, a_start = x, start
    for layer in range(last + 1):
        fan_in, fan_out, factor = layers.sizes[layer], layers.sizes[layer + 1], layers.factors[layer]
        w, b = layers.w_at[layer], layers.b_at[layer]
        if layer < last:
            here = slice(at, at + batch * fan_out)
            multiply(z, at, fan_out, a, a_start, fan_in, 1, own, w, fan_out, batch, fan_in, fan_out, factor)
            if b >= 0:
                _add_to_rows(z[here], own[b : b + fan_out])
            _activate(z[here], h[here], layers.activation)
            a, a_start, at = h, at, at + batch * fan_out
            continue
        if fan_out >= VECTOR_BYTES // f.itemsize:
            multiply(f, 0, fan_out, a, a_start, fan_in, 1, own, w, fan_out, batch, fan_in, fan_out, factor)
        else:
            transpose(turned, own, w, fan_in, fan_out)
            for i in range(batch):
                row = a[a_start + i * fan_in : a_start + (i + 1) * fan_in]
                for j in range(fan_out):
                    column, total = turned[j * fan_in : (j + 1) * fan_in], f.dtype.type(0)
                    for k in range(fan_in):
                        total += row[k] * column[k]
                    f[i * fan_out + j] = factor * total
        if b >= 0:
            _add_to_rows(f[: batch * fan_out], own[b : b + fan_out])


@unchecked
def outputs(own, x, layers):
    """g (n, K) of a network at inputs x (n, D), some rows at a time, so that they stay in the cache."""
    n, sizes, most = len(x), layers.sizes, max(1, min(len(x), 64))
    n_hidden, flat, f = np.sum(sizes[1:-1]), x.ravel(), np.empty((n, sizes[-1]), x.dtype)
    z = np.empty(most * n_hidden, x.dtype)
    h = z if layers.activation <= LAST_IN_PLACE else np.empty(most * n_hidden, x.dtype)
    turned = np.empty(sizes[-2] * sizes[-1], x.dtype)
    for start in range(0, n, most):
        batch = min(most, n - start)
        _pass(own, flat, start * sizes[0], batch, layers, z, h, turned, f[start : start + batch].ravel())
    return f


@unchecked_inline
def _lost(f, y, rows, slopes, n_outputs, loss_kind, right_kind, scale):
    """Mean loss and number of right predictions of outputs f (B, K); fills slopes (B, K) with `scale` times the derivative of
    each example's loss. rows (B,) are the places of the targets in y (R, K)."""
    real, total, right = f.dtype.type, 0.0, 0
    for i in range(len(rows)):
        own, wanted = i * n_outputs, y[rows[i]]
        if loss_kind == LOGISTIC:
            term, slope = logistic(float(f[own]), float(wanted[0]))
            slopes[own] = real(scale * slope)
        elif loss_kind == SQUARED:
            term = 0.0
            for j in range(n_outputs):
                miss = f[own + j] - wanted[j]
                term += float(miss * miss)
                slopes[own + j] = real(scale * (2.0 * miss))
        else:
            top = f[own]
            for j in range(1, n_outputs):
                top = max(top, f[own + j])
            mass, given = 0.0, 0.0
            for j in range(n_outputs):
                share = math.exp(float(f[own + j] - top))
                mass += share
                slopes[own + j] = real(share)
                given += float(wanted[j]) * float(f[own + j] - top)
            term = math.log(mass) - given
            for j in range(n_outputs):
                slopes[own + j] = real(scale * (float(slopes[own + j]) / mass - float(wanted[j])))
        total += term
        if right_kind == SIGN:
            right += 1 if (f[own] > 0) == (wanted[0] > 0) else 0
        elif right_kind == GREATEST:
            best, most = 0, 0
            for j in range(1, n_outputs):
                best = j if f[own + j] > f[own + best] else best
                most = j if wanted[j] > wanted[most] else most
            right += 1 if best == most else 0
    return total / len(rows), math.nan if right_kind == NEITHER else float(right)


@unchecked_inline
def _descend(theta, g, velocity, momentum, rate, decay):
    if momentum > 0:
        for i in range(len(theta)):
            velocity[i] = momentum * velocity[i] + (g[i] + decay * theta[i])
            theta[i] -= rate * velocity[i]
    elif decay > 0:
        for i in range(len(theta)):
            theta[i] -= rate * (g[i] + decay * theta[i])
    else:
        for i in range(len(theta)):
            theta[i] -= rate * g[i]


@unchecked_inline
def _follow_signs(theta, g, rate):
    real = theta.dtype.type
    for i in range(len(theta)):
        theta[i] -= rate * (real(1) if g[i] > 0 else real(-1) if g[i] < 0 else g[i])


@unchecked_inline
def _gathered(examples, places, x):
    """Copy the inputs at these places (B,) into the flat x."""
    real, d_in = x.dtype.type, len(x) // len(places)
    for i in range(len(places)):
        own = x[i * d_in : (i + 1) * d_in]
        if len(examples.table):
            row, front = examples.table[examples.rows[places[i]]], examples.front[places[i]]
            for j in range(d_in):
                own[j] = real(examples.of_bytes[row[j]])
            for j in range(len(front)):
                own[j] = front[j]
        else:
            row_of_x = examples.x[places[i]]
            for j in range(d_in):
                own[j] = row_of_x[j]


@unchecked
def take_changes(members, theta, theta_0, first, second, layers, examples, rule, loss, right):
    """Change the parameters of some networks, theta (C, P), by N batches, in place.

    members        the networks of one group, which see the same batches
    theta_0        (C, P) initial parameters of centred networks, else (0, 0)
    first, second  (C, P) what the optimiser keeps, (0, 0) if nothing
    loss, right    (N, C) mean loss and right predictions of each batch, before the change
    """
    real, sizes, n_layers = theta.dtype.type, layers.sizes, len(layers.factors)
    batch, d_in, n_outputs, n_hidden = examples.order.shape[1], sizes[0], sizes[-1], np.sum(sizes[1:-1])
    at, largest = np.zeros(n_layers, np.int64), 1  # where h_l begins in z and h
    for layer in range(n_layers):
        largest = max(largest, sizes[layer] * sizes[layer + 1])
        if 0 < layer < n_layers - 1:
            at[layer] = at[layer - 1] + batch * sizes[layer]
    z = np.empty(batch * n_hidden, theta.dtype)
    h = z if layers.activation <= LAST_IN_PLACE else np.empty(batch * n_hidden, theta.dtype)
    gathered, g, turned = np.empty(batch * d_in, theta.dtype), np.empty(largest, theta.dtype), np.empty(largest, theta.dtype)
    f, f_0, slopes = np.empty((3, batch * n_outputs), theta.dtype)
    dz, dh = np.empty((2, batch * max(np.max(sizes[1:]), 1)), theta.dtype)
    flat, is_centred, lanes = examples.x.ravel(), len(theta_0) > 0, VECTOR_BYTES // theta.itemsize
    for c in members:
        own = theta[c]
        own_first, own_second = first[c] if len(first) else own, second[c] if len(second) else own
        for t in range(len(loss)):
            places = examples.order[t % len(examples.order)]
            inputs, start = flat, places[0] * d_in
            if not examples.in_order:
                _gathered(examples, places, gathered)
                inputs, start = gathered, 0
            if is_centred:
                _pass(theta_0[c], inputs, start, batch, layers, z, h, turned, f_0)
            _pass(own, inputs, start, batch, layers, z, h, turned, f)
            for i in range(len(f)):
                f[i] = (f[i] - f_0[i] if is_centred else f[i]) * rule.inv_epsilon[c]
            scale = float(rule.inv_epsilon[c]) / batch
            loss[t, c], right[t, c] = _lost(f, examples.y, places, slopes, n_outputs, rule.loss, rule.right, scale)

            now, following = dz, dh
            now[: len(slopes)] = slopes
            factor = real(rule.scheduled[t, 0]) if rule.has_factor else real(1)
            for below in range(n_layers - layers.lowest):
                layer = n_layers - 1 - below
                fan_in, fan_out, c_l, w = sizes[layer], sizes[layer + 1], layers.factors[layer], layers.w_at[layer]
                a, a_start = (inputs, start) if layer == 0 else (h, at[layer - 1])
                if layer > layers.lowest:  # before the weights change
                    before = slice(a_start, a_start + batch * fan_in)
                    transpose(turned, own, w, fan_in, fan_out)
                    multiply(following, 0, fan_in, now, 0, fan_out, 1, turned, 0, fan_in, batch, fan_out, fan_in, c_l)
                    _multiply_by_slope(following, z[before], h[before], layers.activation)
                if fan_out < lanes:
                    multiply(turned, 0, fan_in, now, 0, 1, fan_out, a, a_start, fan_in, fan_out, batch, fan_in, c_l)
                    transpose(g, turned, 0, fan_out, fan_in)
                else:
                    multiply(g, 0, fan_out, a, a_start, 1, fan_in, now, 0, fan_out, fan_in, batch, fan_out, c_l)
                for part in range(2):
                    place, n = (w, fan_in * fan_out) if part == 0 else (layers.b_at[layer], fan_out)
                    if place < 0:
                        continue
                    if part == 1:
                        _sum_rows(now[: batch * fan_out], g[:fan_out])
                    changed, rate = slice(place, place + n), rule.rates[c, layer, part] * factor
                    if rule.optimiser == DESCENT:
                        _descend(own[changed], g, own_first[changed], rule.momentum[c], rate, rule.decay[c])
                    elif rule.optimiser == ADAM:
                        follow_moments(
                            own[changed], g, own_first[changed], own_second[changed], rate, rule.decay[c], rule.keep,
                            real(rule.scheduled[t, -2]), real(rule.scheduled[t, -1]),
                        )  # fmt: skip
                    else:
                        _follow_signs(own[changed], g, rate)
                now, following = following, now
