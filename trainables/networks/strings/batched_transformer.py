"""Outputs and gradients of transformers on a CPU, with the derivatives of each layer written out; notation of .attending.

Each part of a network is a function that returns its outputs and a function from the gradients of these to those of its inputs.
Networks take turns, so that a network's digits do not depend on its pack.

The first layer's queries, keys and values depend on a token and its position alone. So they are computed once for each of the D
distinct pairs: the 4096 tokens of 1024 strings aba/abb over as many symbols have some 1940, as CLS is the same in all strings.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import gelu

from trainables.kernels.softmax import add_rows, attend, attend_back, mix, mix_back
from trainables.networks.base import Parameters, answered, held
from trainables.networks.strings.attending import LN_EPSILON
from trainables.networks.strings.softmax import as_array, scale_of

if TYPE_CHECKING:
    from trainables.networks.strings.attending import Attending
    from trainables.spec import CellSpec

Back = Callable[[Tensor], Tensor]
"""Gradients of a function's inputs from those of its outputs. It writes those of parameters where they belong."""


class Pairs(NamedTuple):
    """The distinct pairs of a token and its position in n strings."""

    tokens: Tensor
    """(D,) without CLS, whose row comes last."""
    positions: Tensor
    """(D,)."""
    rows: Tensor
    """(n, length), the pair of each token."""

    @classmethod
    def of(cls, x: Tensor, n_tokens: int, reads_cls: bool) -> "Pairs":
        """The pairs in strings x (n, k), with CLS after them or without. IndexError if a token is none of n_tokens."""
        if x.min() < 0 or x.max() >= n_tokens:
            raise IndexError(f"tokens from {x.min()} to {x.max()}; the task has {n_tokens}, from 0 on")
        pairs, rows = torch.unique(x + n_tokens * torch.arange(x.shape[1]), return_inverse=True)
        if reads_cls:
            rows = torch.cat([rows, rows.new_full((len(x), 1), len(pairs))], dim=1)
        return cls(pairs % n_tokens, pairs.div(n_tokens, rounding_mode="floor"), rows)


class Derivatives:
    """C transformers of one shape that read one token of short strings; implements Passes, and is called under torch.no_grad."""

    def __init__(self, cells: "Sequence[CellSpec]", reads_cls: bool) -> None:
        self.cell = cells[0]
        self.network: Attending = cells[0].network
        self.reads_cls = reads_cls
        self.held = held(cells)
        """Factors of identities that no network of the pack trains: they stay 0, and their terms are left out."""
        self.x: Tensor | None = None
        self.pairs: list[Pairs] = []
        self.backs: list[Back] = []
        """One a network, the last network first."""
        self.found: Parameters = {}
        """Gradients, made once."""

    def arranged(self, parameters: Parameters) -> Parameters:
        assert not any(parameters[name].any() for name in self.held), "an identity that nobody trains starts at 0"
        return parameters

    def outputs(self, parameters: Parameters, x: Tensor) -> Tensor:
        if x is not self.x:
            self.x, self.pairs = x, [self._pairs(strings) for strings in x]
        if not self.found:
            self.found = {name: torch.zeros_like(theta) for name, theta in parameters.items() if name not in self.held}
        outputs, backs = [], []
        for c, pairs in enumerate(self.pairs):
            gradients = {name: value[c] for name, value in self.found.items()}
            g, back = self._network({name: value[c] for name, value in parameters.items()}, gradients).passed(pairs)
            outputs.append(self._answered(g))
            backs.append(back)
        self.backs = backs[::-1]
        return torch.stack(outputs)

    def alone(self, parameters: Parameters, x: Tensor) -> Tensor:
        return self._answered(self._network(parameters, {}).passed(self._pairs(x))[0])

    def gradients(self, slopes: Tensor) -> Iterator[tuple[str, Tensor]]:
        assert len(self.backs) == len(slopes), "gradients are asked for once after outputs"
        for slope in slopes:
            self.backs.pop()(slope.reshape(len(slope), -1))
        yield from self.found.items()

    def _network(self, theta: Parameters, gradients: Parameters) -> "OneNetwork":
        return OneNetwork(self.network, self.cell, theta, gradients, self.held)

    def _pairs(self, x: Tensor) -> Pairs:
        return Pairs.of(x, self.cell.task.n_tokens, self.reads_cls)

    def _answered(self, g: Tensor) -> Tensor:
        return g if self.cell.task.labels_are_tokens else answered(g, self.cell.task)


class OneNetwork:
    """One network: its parameters, and the arrays into which their gradients are written."""

    def __init__(self, network: "Attending", cell: "CellSpec", theta: Parameters, gradients: Parameters, held: set[str]) -> None:
        self.network, self.theta, self.gradients, self.held = network, theta, gradients, held
        self.labels_are_tokens = cell.task.labels_are_tokens

    def passed(self, pairs: Pairs) -> tuple[Tensor, Back]:
        """g (n, K) of all strings; what comes back from its gradient (n, K) is that of the pairs' vectors."""
        rows = pairs.rows
        h, back = self._vectors(pairs)
        backs = [back]
        for layer in range(1, self.network.depth + 1):
            h, back = self._layer(layer, h, rows, is_last=layer == self.network.depth)
            backs.append(back)
            rows = torch.arange(len(h)).view(len(rows), -1)
        for part in (self._normed, self._read):
            h, back = part(h)
            backs.append(back)

        def all_back(slopes: Tensor) -> Tensor:
            for back in reversed(backs):
                slopes = back(slopes)
            return slopes

        return h, all_back

    def _vectors(self, pairs: Pairs) -> tuple[Tensor, Back]:
        """Vectors h (D, d) of the pairs."""
        theta, gradients, (tokens, positions, _) = self.theta, self.gradients, pairs
        h = theta["E"][tokens] + theta["pos"][positions]
        if "cls" in theta:
            h = torch.cat([h, (theta["cls"] + theta["pos"][-1])[None]])

        def back(d_h: Tensor) -> Tensor:
            d_pos = gradients["pos"].zero_()
            if not self.labels_are_tokens:  # else the readout has written its part
                gradients["E"].zero_()
            if "cls" in theta:
                gradients["cls"].copy_(d_h[-1])
                d_pos[-1] = d_h[-1]
            _add_rows(d_h[: len(tokens)], tokens, gradients["E"])
            _add_rows(d_h[: len(tokens)], positions, d_pos)
            return d_h

        return h, back

    def _read(self, features: Tensor) -> tuple[Tensor, Back]:
        """g (n, K) from features (n, d)."""
        gradients = self.gradients
        if self.labels_are_tokens:
            matrix, c = self.theta["E"], self.network.logit_factor
            scaled = c * features

            def back_to_tokens(slopes: Tensor) -> Tensor:
                torch.mm(slopes.T, scaled, out=gradients["E"])
                return c * (slopes @ matrix)

            return scaled @ matrix.T, back_to_tokens
        readout = self.theta["readout"]

        def back(slopes: Tensor) -> Tensor:
            torch.mm(features.T, slopes, out=gradients["readout"])
            torch.sum(slopes, 0, out=gradients["bias"])
            return slopes @ readout.T

        return torch.addmm(self.theta["bias"], features, readout), back

    def _layer(self, layer: int, h: Tensor, rows: Tensor, is_last: bool) -> tuple[Tensor, Back]:
        """Outputs (n length, d) of a layer for all tokens, whose vectors are these rows (n, length) of h (D, d); of the last
        layer (n, d), for the token that is read."""
        y, of_norm = self._normed(h, "attention", layer)
        sums, of_attention = (self._attention_of_last if is_last else self._attention)(layer, y, rows)
        own = (rows[:, -1] if is_last else rows).reshape(-1)
        outputs, of_perceptron = self._perceptron(layer, h[own].add_(sums))

        def back(d: Tensor) -> Tensor:
            d = of_perceptron(d)
            d_h = of_norm(of_attention(d))
            _add_rows(d, own, d_h)
            return d_h

        return outputs, back

    def _normed(self, h: Tensor, of: str = "", layer: int = 0) -> tuple[Tensor, Back]:
        """LN(h) with the gain and shift of that name, or without."""
        names = (f"gain_{of}{layer}", f"shift_{of}{layer}") if of else ()
        gain, shift = (self.theta[name] for name in names) if names else (None, None)
        y, mean, scale = torch.native_layer_norm(h, h.shape[-1:], gain, shift, LN_EPSILON)

        def back(d_y: Tensor) -> Tensor:
            wanted = [True, bool(names), bool(names)]
            d_h, *others = torch.ops.aten.native_layer_norm_backward(d_y, h, h.shape[-1:], mean, scale, gain, shift, wanted)
            for name, gradient in zip(names, others, strict=False):
                self.gradients[name].copy_(gradient)
            found: Tensor = d_h
            return found

        return y, back

    def _perceptron(self, layer: int, h: Tensor) -> tuple[Tensor, Back]:
        """h + W_2 gelu(W_1 LN(h) + b_1) + b_2."""
        theta, gradients = self.theta, self.gradients
        w1, w2 = theta[f"w1_{layer}"], theta[f"w2_{layer}"]
        y, of_norm = self._normed(h, "mlp", layer)
        z = torch.addmm(theta[f"bias1_{layer}"], y, w1)
        active = gelu(z)
        outputs = torch.addmm(h, active, w2).add_(theta[f"bias2_{layer}"])

        def back(d: Tensor) -> Tensor:
            torch.mm(active.T, d, out=gradients[f"w2_{layer}"])
            torch.sum(d, 0, out=gradients[f"bias2_{layer}"])
            d_z = torch.ops.aten.gelu_backward(d @ w2.T, z)
            torch.mm(y.T, d_z, out=gradients[f"w1_{layer}"])
            torch.sum(d_z, 0, out=gradients[f"bias1_{layer}"])
            return of_norm(d_z @ w1.T).add_(d)

        return outputs, back

    def _attention(self, layer: int, y: Tensor, rows: Tensor) -> tuple[Tensor, Back]:
        """Attention (n length, d) of all tokens, whose vectors are these rows of y (D, d)."""
        theta, gradients, (n, length) = self.theta, self.gradients, rows.shape
        heads, size = self.network.heads, self.network.head_dim
        a, b = self._identities(layer)
        queries, keys, values = (as_array((y @ theta[f"{name}{layer}"]).view(-1, heads, size)) for name in "qkv")
        scale, row_of = scale_of(queries), as_array(rows)
        bias = y.new_zeros(n, heads, length, length)
        if a or b:
            tokens = y[rows]
        if a:
            overlaps = tokens @ tokens.mT
            torch.mul(theta[a][:, None, None], overlaps[:, None], out=bias)
        attended, masses = map(torch.from_numpy, attend(queries, keys, values, row_of, as_array(bias), scale))
        attended = attended.view(n * length, -1)
        sums = attended @ theta[f"out{layer}"]
        if b:
            mixing = torch.einsum("h,nhij->nij", theta[b], masses)
            sums.view(n, length, -1).baddbmm_(mixing, tokens)

        def back(d: Tensor) -> Tensor:
            torch.mm(attended.T, d, out=gradients[f"out{layer}"])
            d_attended = (d @ theta[f"out{layer}"].T).view(n, length, heads, size)
            d_masses, by_string = torch.zeros_like(masses), d.view(n, length, -1)
            if b:
                d_mixing = by_string @ tokens.mT
                torch.mul(theta[b][:, None, None], d_mixing[:, None], out=d_masses)
                gradients[b].copy_(torch.einsum("nhij,nij->h", masses, d_mixing))
            arrays = (as_array(one) for one in (masses, d_attended, d_masses))
            *d_qkv, d_scores = map(torch.from_numpy, attend_back(queries, keys, values, row_of, *arrays, scale))
            d_y = torch.zeros_like(y)
            for name, d_one in zip("qkv", d_qkv, strict=True):
                torch.mm(y.T, d_one.view(len(y), -1), out=gradients[f"{name}{layer}"])
                d_y.addmm_(d_one.view(len(y), -1), theta[f"{name}{layer}"].T)
            if b:
                _add_rows((mixing.mT @ by_string).view_as(d), rows.view(-1), d_y)
            if a:
                gradients[a].copy_(torch.einsum("nhij,nij->h", d_scores, overlaps))
                d_overlaps = torch.einsum("h,nhij->nij", theta[a], d_scores)
                _add_rows(((d_overlaps + d_overlaps.mT) @ tokens).view_as(d), rows.view(-1), d_y)
            return d_y

        return sums, back

    def _attention_of_last(self, layer: int, y: Tensor, rows: Tensor) -> tuple[Tensor, Back]:
        """Attention (n, d) of the last token alone, as in Attending._attention_of_last; for rows and y as in `_attention`."""
        theta, gradients = self.theta, self.gradients
        heads, size = self.network.heads, self.network.head_dim
        a, b = self._identities(layer)
        tokens = y[rows]
        read = tokens[:, -1].contiguous()
        q, k, v = (self._by_head(theta[f"{name}{layer}"]) for name in "qkv")  # (heads, d, size)
        queries = torch.matmul(read, q).mul_(size**-0.5)
        u = queries @ k.mT
        if a:
            u.addcmul_(theta[a][:, None, None], read)
        seen = as_array(u), as_array(tokens)
        z, masses = map(torch.from_numpy, mix(*seen))
        attended = y.new_empty(len(read), heads * size)
        torch.bmm(z, v, out=self._by_head(attended))
        sums = attended @ theta[f"out{layer}"]
        if b:
            sums.view(-1).addmv_(z.view(heads, -1).T, theta[b])

        def back(d_sums: Tensor) -> Tensor:
            torch.mm(attended.T, d_sums, out=gradients[f"out{layer}"])
            d_attended = self._by_head(d_sums @ theta[f"out{layer}"].T)
            d_z = d_attended @ v.mT
            torch.bmm(z.mT, d_attended, out=self._by_head(gradients[f"v{layer}"]))
            if b:
                torch.mv(z.view(heads, -1), d_sums.view(-1), out=gradients[b])
                d_z.addcmul_(theta[b][:, None, None], d_sums)
            d_u, d_tokens = map(torch.from_numpy, mix_back(*seen, as_array(masses), as_array(d_z)))
            torch.bmm(d_u.mT, queries, out=self._by_head(gradients[f"k{layer}"]))
            d_queries = torch.empty_like(attended)
            torch.bmm(d_u, k, out=self._by_head(d_queries)).mul_(size**-0.5)
            torch.mm(read.T, d_queries, out=gradients[f"q{layer}"])
            d_read = d_tokens[:, -1]
            d_read.addmm_(d_queries, theta[f"q{layer}"].T)
            if a:
                of_heads = d_u.view(heads, -1)
                torch.mv(of_heads, read.view(-1), out=gradients[a])
                d_read += torch.mv(of_heads.T, theta[a]).view_as(d_read)
            d_y = torch.zeros_like(y)
            _add_rows(d_tokens.flatten(0, 1), rows.view(-1), d_y)
            return d_y

        return sums, back

    def _identities(self, layer: int) -> tuple[str | None, ...]:
        """Names of the factors a and b, each None if it is held at 0."""
        return tuple(None if (name := f"{of}{layer}") in self.held else name for of in "ab")

    def _by_head(self, rows: Tensor) -> Tensor:
        """Rows (n, heads size) as (heads, n, size)."""
        return rows.view(-1, self.network.heads, self.network.head_dim).transpose(0, 1)


def _add_rows(values: Tensor, rows: Tensor, sums: Tensor) -> None:
    add_rows(as_array(values), as_array(rows), sums.numpy())
