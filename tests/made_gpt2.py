"""A made GPT-2 as users have it from Hugging Face: a folder of two layers, and the network in plain PyTorch that computes it."""

import json
import math
from pathlib import Path

import torch
from torch import nn

TINY = {"depth": 2, "heads": 2, "head_dim": 8, "embedding": 16, "width": 64}
CONFIG = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 32, "vocab_size": 300}


class Layer(nn.Module):
    """One layer of GPT-2; its modules have the published names, its matrices are published transposed."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(d, 3 * d), "c_proj": nn.Linear(d, d)})
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(d, 4 * d), "c_proj": nn.Linear(4 * d, d)})

    def forward(self, h, a, b):
        """`a`, `b`: what multiplies the identities, one number a head."""
        n, t, d = h.shape
        y = self.ln_1(h)
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.attn["c_attn"](y).chunk(3, -1))
        scores = q @ k.transpose(2, 3) / math.sqrt(d / self.heads) + a[:, None, None] * (y @ y.transpose(1, 2))[:, None]
        masses = scores.masked_fill(~torch.tril(torch.ones(t, t, dtype=torch.bool)), -torch.inf).softmax(-1)
        h = h + self.attn["c_proj"]((masses @ v).transpose(1, 2).reshape(n, t, d))
        h = h + (b[:, None, None] * (masses @ y[:, None])).sum(1)
        z = self.mlp["c_fc"](self.ln_2(h))
        gelu = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        return h + self.mlp["c_proj"](gelu)


class Plain(nn.Module):
    """GPT-2 without a head."""

    def __init__(self, depth=2, d=16, heads=2, n_tokens=300, n_positions=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(n_tokens, d), nn.Embedding(n_positions, d)
        self.h = nn.ModuleList([Layer(d, heads) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(d)

    def forward(self, h, a, b):
        """The last LN's outputs (n, t, d) at vectors of tokens h (n, t, d); a and b (depth, heads)."""
        h = h + self.wpe.weight[: h.shape[1]]
        for layer, one in enumerate(self.h):
            h = one(h, a[layer], b[layer])
        return self.ln_f(h)

    def published(self):
        """The tensors as they are published: matrices of layers are (in, out)."""
        turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
        return {name: (value.T if name.endswith(turned) else value).contiguous() for name, value in self.state_dict().items()}


def made_gpt2(folder, name="pytorch_model.bin", prefix="", seed=0, **config):
    """Write a folder of made weights in float32, and give their network in float64."""
    torch.manual_seed(seed)
    plain = Plain()
    for value in plain.parameters():
        nn.init.normal_(value, std=0.3)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    tensors = {prefix + name: value for name, value in plain.published().items()}
    if name.endswith(".bin"):
        torch.save(tensors, folder / name)
    else:
        from safetensors.torch import save_file

        save_file(tensors, folder / name)
    return plain.double().requires_grad_(False)


def plain_of(theta):
    """Our parameters of a network as a plain one of theirs."""
    plain = Plain(n_positions=len(theta["pos"])).double().requires_grad_(False)
    own = {"wte.weight": plain.wte.weight, "wpe.weight": theta["pos"]}
    own |= {"ln_f.weight": theta["gain_last"], "ln_f.bias": theta["shift_last"]}
    for layer in (1, 2):
        of = f"h.{layer - 1}."
        for ours, theirs in (("attention", "ln_1"), ("mlp", "ln_2")):
            own |= {f"{of}{theirs}.weight": theta[f"gain_{ours}{layer}"], f"{of}{theirs}.bias": theta[f"shift_{ours}{layer}"]}
        own[f"{of}attn.c_attn.weight"] = torch.cat([theta[f"{name}{layer}"] for name in "qkv"], 1).T
        own[f"{of}attn.c_attn.bias"] = torch.cat([theta[f"bias_{name}{layer}"] for name in "qkv"])
        for weight, bias, theirs in (
            ("out", "bias_out", "attn.c_proj"),
            ("w1_", "bias1_", "mlp.c_fc"),
            ("w2_", "bias2_", "mlp.c_proj"),
        ):
            own |= {f"{of}{theirs}.weight": theta[f"{weight}{layer}"].T, f"{of}{theirs}.bias": theta[f"{bias}{layer}"]}
    plain.load_state_dict(own)
    return plain


def after_tokens(plain, theta, x):
    """The last LN's outputs (n, t, d) of a plain network at strings x, with our vectors of tokens and our identities."""
    a, b = (torch.stack([theta[f"{name}{layer}"] for layer in (1, 2)]) for name in "ab")
    return plain(theta["E"][x], a, b)
