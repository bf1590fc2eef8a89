"""The compiled step of `patches`: images are empty except for two patches, so a step touches only the weights of these patches.

K is the number of pixels of a patch, padded with zeros to a multiple of TILE; P is the number of patches of an image. The
distinct (form, place) of a batch are its atoms, sorted by place. Neurons come in chunks of CHUNK; a chunk's data lie together:
forms (F, K)             the possible contents of a patch
atoms (A,)               form of each atom; those of place j are starts[j] to starts[j + 1]
pairs (B, 2)             the atoms of each image
w0, u (n, P, K, CHUNK)   initial weights, scaled changes
a0, b, a (n, CHUNK)      initial readouts, scaled changes, a = a0 + eps b
p (n, A, CHUNK)          initial preactivations of the atoms

The preactivation of an image is the sum over its two atoms of h = p + eps q, with q from the weights u. So the gradient of the
weights at a place is the sum over the place's atoms of form times `on`, the error propagated back to the atom.
"""

import numpy as np

from trainables.kernels.compiled import compiled, inline
from trainables.kernels.neuron import logistic, scaled_change
from trainables.kernels.sizes import CHUNK, TILE
from trainables.kernels.tiles import add_product_of_four, add_product_of_one, fill


@compiled
def plan_atoms(form, place, n_forms, n_places):
    """The atoms (T, 2 B), starts (T, P + 1) and pairs (T, B, 2) of images given by form and place (T, B, 2).

    Entries of atoms beyond their number starts[t, P] are not set.
    """
    n_steps, batch = form.shape[0], form.shape[1]
    atoms, pairs = np.empty((n_steps, 2 * batch), np.int32), np.empty((n_steps, batch, 2), np.int32)
    starts = np.zeros((n_steps, n_places + 1), np.int32)
    seen, rank = np.full((n_places, n_forms), -1, np.int32), np.empty((n_places, n_forms), np.int32)
    for t in range(n_steps):
        start = starts[t]
        for k in range(batch):
            for s in range(2):
                f, at = form[t, k, s], place[t, k, s]
                if seen[at, f] != t:
                    seen[at, f] = t
                    rank[at, f] = start[at + 1]
                    start[at + 1] += 1
        for at in range(n_places):
            start[at + 1] += start[at]
        for k in range(batch):
            for s in range(2):
                f, at = form[t, k, s], place[t, k, s]
                i = start[at] + rank[at, f]
                atoms[t, i] = f
                pairs[t, k, s] = i
    return atoms, starts, pairs


@inline
def _preactivate(forms, atoms, start, end, w, zero, out):
    """Write out[start:end] (CHUNK each): the forms of a place's atoms times the place's weights w (K, CHUNK)."""
    for i in range(start, end):
        fill(out[i], zero)
    whole = start + (end - start) // 4 * 4
    for i in range(start, whole, 4):
        add_product_of_four(forms, atoms[i], atoms[i + 1], atoms[i + 2], atoms[i + 3], w, out[i : i + 4])
    for i in range(whole, end):
        add_product_of_one(forms, atoms[i], w, out[i])


@compiled
def preactivations(forms, atoms, starts, w, out):
    """Write out (T, n, A, CHUNK): preactivations of the atoms of each step with weights w (n, P, K, CHUNK)."""
    zero = out.dtype.type(0)
    for t in range(len(atoms)):
        for c in range(len(w)):
            for at in range(w.shape[1]):
                _preactivate(forms, atoms[t], starts[t, at], starts[t, at + 1], w[c, at], zero, out[t, c])


@inline
def _output(p0, p1, q0, q1, a0, b, eps, inv_eps, zero):
    """A chunk's share of the centred output of one image."""
    f = zero
    for n in range(CHUNK):
        p, q = p0[n] + p1[n], q0[n] + q1[n]
        f += b[n] * max(p + eps * q, zero) + a0[n] * scaled_change(p, q, inv_eps, zero)
    return f


@compiled
def outputs(pairs, p, q, a0, b, eps):
    """Centred outputs (B,) of images, from preactivations p, q (n, A, CHUNK) of their atoms."""
    real = b.dtype.type  # a Python number would make numba widen float32 to float64, and all that follows
    zero, inv_eps = real(0), real(1) / eps
    f = np.zeros(len(pairs), b.dtype)
    for c in range(len(p)):
        for k in range(len(pairs)):
            i, j = pairs[k]
            f[k] += _output(p[c, i], p[c, j], q[c, i], q[c, j], a0[c], b[c], eps, inv_eps, zero)
    return f


@inline
def _collect(p0, p1, q0, q1, eps, df, zero, on0, on1):
    """Add df of one image to both its atoms where the neuron is on."""
    for n in range(CHUNK):
        on = df if (p0[n] + p1[n]) + eps * (q0[n] + q1[n]) > zero else zero
        on0[n] += on
        on1[n] += on


@inline
def _follow(p, q, eps, a, on, gb):
    """Add one atom's share of the gradient of b to gb; `on` becomes the gradient of the atom's preactivation."""
    for n in range(CHUNK):
        gb[n] += (p[n] + eps * q[n]) * on[n]
        on[n] *= a[n]


@inline
def _follow_weights(forms, atoms, start, end, on, columns, zero, u):
    """Add to u (K, CHUNK) of a place the sum over its atoms of form times `on`; columns (K, A) is a working array."""
    n = -(-(end - start) // TILE) * TILE
    for i in range(n):
        for k in range(forms.shape[1]):
            columns[k, i] = forms[atoms[start + i], k] if start + i < end else zero
    for k in range(0, forms.shape[1], TILE):
        add_product_of_four(columns, k, k + 1, k + 2, k + 3, on[start : start + n], u[k : k + 4])


@compiled
def train_steps(forms, atoms, starts, pairs, same, p, u, q, on, a0, b, eps, lr, loss, right):
    """Take the steps given by `plan_atoms`, in place; loss, right (T,) receive mean loss and right predictions before each step.

    p is (T, n, A, CHUNK). q (n, A, CHUNK) and on (A + TILE, CHUNK) are working arrays; `on` must hold no NaN. A step visits each
    chunk once, and in it each place once: it applies the gradient of the step before, then adds its share of this step's outputs.
    """
    real = b.dtype.type
    zero, inv_eps = real(0), real(1) / eps
    n_steps, batch = same.shape
    columns, gb = np.empty((forms.shape[1], 2 * batch + TILE), b.dtype), np.empty(CHUNK, b.dtype)
    f, df = np.empty(batch, b.dtype), np.empty(batch, b.dtype)
    for t in range(n_steps + 1):
        f[:] = 0
        for c in range(len(u)):
            if t > 0:
                for i in range(starts[t - 1, -1]):
                    fill(on[i], zero)
                for k in range(batch):
                    i, j = pairs[t - 1, k]
                    _collect(p[t - 1, c, i], p[t - 1, c, j], q[c, i], q[c, j], eps, df[k], zero, on[i], on[j])
                a = a0[c] + eps * b[c]
                fill(gb, zero)
                for i in range(starts[t - 1, -1]):
                    _follow(p[t - 1, c, i], q[c, i], eps, a, on[i], gb)
                b[c] += gb
            for at in range(u.shape[1]):
                if t > 0 and starts[t - 1, at] < starts[t - 1, at + 1]:
                    _follow_weights(forms, atoms[t - 1], starts[t - 1, at], starts[t - 1, at + 1], on, columns, zero, u[c, at])
                if t < n_steps:
                    _preactivate(forms, atoms[t], starts[t, at], starts[t, at + 1], u[c, at], zero, q[c])
            if t < n_steps:
                for k in range(batch):
                    i, j = pairs[t, k]
                    f[k] += _output(p[t, c, i], p[t, c, j], q[c, i], q[c, j], a0[c], b[c], eps, inv_eps, zero)
        if t < n_steps:
            total, hits = zero, 0
            for k in range(batch):
                term, slope = logistic(float(f[k]), 1.0 if same[t, k] else 0.0)
                total += real(term)  # in the cell's precision, so that the loss becomes infinite on overflow, as elsewhere
                hits += 1 if (f[k] > zero) == same[t, k] else 0
                df[k] = real(-lr * slope / batch)
            loss[t], right[t] = total / batch, hits
