"""GPT-2's weights as users have them from Hugging Face: a folder with config.json, and model.safetensors or pytorch_model.bin.

Looking reads config.json, and of the weights the digest, names and shapes; nothing is downloaded, and nothing here imports torch
before weights are read, because every plan looks.
"""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trainables.basics import Array
from trainables.features.digests import file_digest
from trainables.features.folders import absolute, data_folder, readable
from trainables.features.weights.headers import Shapes, UnreadableError, shapes_in
from trainables.features.weights.tensors import check_shape, loaded, picked

if TYPE_CHECKING:
    from torch import Tensor

CONFIG = "config.json"
FILES = ("model.safetensors", "pytorch_model.bin")
"""Names of the file of weights; the first that is there counts."""
SAFETENSORS = "safetensors==0.8.0"
"""The requirement to install, of the version that was seen to read the first."""


class Shape(NamedTuple):
    """Sizes of a GPT-2, by the names of its keys."""

    depth: int
    heads: int
    embedding: int
    width: int

    def __str__(self) -> str:
        return ", ".join(f"{name} {size}" for name, size in self._asdict().items())


PUBLISHED = {
    "gpt2": Shape(12, 12, 768, 3072),
    "gpt2-medium": Shape(24, 16, 1024, 4096),
    "gpt2-large": Shape(36, 20, 1280, 5120),
    "gpt2-xl": Shape(48, 25, 1600, 6400),
}
"""Names on Hugging Face: small, medium, large, extra large."""
ALWAYS = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
}
"""Entries of config.json that network `gpt2` is made for; each is GPT-2's default."""
_WANTED_BY = f"what {CONFIG} beside it says"


class Weights(NamedTuple):
    """Weights that are there."""

    file: str
    digest: str
    """First digits of the sha256 of the file."""
    n_tokens: int
    n_positions: int
    is_tied: bool
    """True if the network read out tokens by their own vectors."""


def look(weights_dir: str, shape: Shape) -> Weights:
    """The weights of a GPT-2 of this shape, all of which are there. ValueError, in one line, says what is missing or unusable, in
    which folder, and what to supply."""
    folder, said_by = _folder(weights_dir, shape)
    names = " and ".join([CONFIG, " or ".join(FILES)])
    supply = f"put there what Hugging Face holds of such a network, {names}, or let weights_dir name their folder"
    where = f"GPT-2's weights: {folder} ({said_by})"
    with readable(folder):
        if not (folder / CONFIG).is_file():
            raise ValueError(f"{where} lacks {CONFIG}; {supply}")
        file = next((folder / name for name in FILES if (folder / name).is_file()), None)
        if file is None:
            raise ValueError(f"{where} lacks {' and '.join(FILES)}; {supply}")
        config = _config(folder / CONFIG, shape)
        if file.name == FILES[0] and find_spec("safetensors") is None:
            wanted = f"python -m pip install {SAFETENSORS}; or put {FILES[1]} in its place"
            raise ValueError(f"{file} is read by a package that is not installed: {wanted}")
        weights = Weights(str(file), file_digest(file)[:8], *config)
        _check_tensors(weights, shape)
        return weights


def _folder(weights_dir: str, shape: Shape) -> tuple[Path, str]:
    """The folder of the weights of this shape, and who named it: the one given, or the one of this size's name in it."""
    published = next((name for name, sizes in PUBLISHED.items() if sizes == shape), "gpt2")
    if not weights_dir:
        above, said_by = data_folder("")
        return above / published, said_by
    given = absolute(weights_dir)
    inside = given / published
    return inside if not (given / CONFIG).is_file() and inside.is_dir() else given, "the grid's weights_dir"


def _config(file: Path, shape: Shape) -> tuple[int, int, bool]:
    """Numbers of tokens and of positions, and whether the readout is tied. ValueError if the file describes another network."""
    try:
        config = json.loads(file.read_text())
        depth, heads, d = (int(config[name]) for name in ("n_layer", "n_head", "n_embd"))
        found = Shape(depth, heads, d, int(config.get("n_inner") or 4 * d))
        n_tokens, n_positions = int(config["vocab_size"]), int(config["n_positions"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is no configuration of a GPT-2 ({type(error).__name__}: {error}); replace it") from None
    for name, usual in ALWAYS.items():
        if config.get(name, usual) != usual:
            raise ValueError(f"{file}: {name} is {config[name]}, and network gpt2 has {usual}")
    if found != shape:
        raise ValueError(f"{file} describes a network of {found}; the grid says {shape}")
    return n_tokens, n_positions, bool(config.get("tie_word_embeddings", True))


def _check_tensors(weights: Weights, shape: Shape) -> None:
    """ValueError if the file is torn, or lacks a tensor of a GPT-2, or has one of another shape."""
    try:
        found = _shapes(weights.file, weights.digest)
    except UnreadableError as error:
        raise ValueError(f"{weights.file} cannot be read as weights: {error}; replace it") from None
    for name, wanted in shapes_of(shape, weights.n_tokens, weights.n_positions).items():
        check_shape(weights.file, _WANTED_BY, name, found.get(name), wanted, ValueError)


@lru_cache(maxsize=8)
def _shapes(file: str, digest: str) -> Shapes:
    """Shapes of the tensors of a file that has this digest, by their names in a GPT-2 without head."""
    return {_plain(name): shape for name, shape in shapes_in(Path(file)).items()}


def shapes_of(shape: Shape, n_tokens: int, n_positions: int) -> Shapes:
    """Shapes of all tensors of a GPT-2 without head, by their published names; matrices are (in, out)."""
    d, m = shape.embedding, shape.width
    found: Shapes = {"wte.weight": (n_tokens, d), "wpe.weight": (n_positions, d)}
    layer = {
        "ln_1": (d,), "attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d), "ln_2": (d,), "mlp.c_fc": (d, m), "mlp.c_proj": (m, d)
    }  # fmt: skip
    of_layers = {f"h.{k}.{name}": sizes for k in range(shape.depth) for name, sizes in layer.items()}
    for name, sizes in {**of_layers, "ln_f": (d,)}.items():
        found |= {f"{name}.weight": sizes, f"{name}.bias": sizes[-1:]}
    return found


def _plain(name: str) -> str:
    return name.removeprefix("transformer.")


@lru_cache(maxsize=1)
def tensors(weights: Weights) -> "dict[str, Tensor]":
    """All tensors of the file in float32, by their names in a GPT-2 without head. TaskError if they cannot be read.

    The last ones read are kept: the networks of a pack start from them one after the other.
    """
    return {_plain(name): tensor.float() for name, tensor in loaded(Path(weights.file)).items()}


def taken(weights: Weights, name: str, shape: tuple[int, ...]) -> Array:
    """A tensor of this name and shape as an array. TaskError if the file lacks it or has another shape."""
    found: Array = picked(tensors(weights), weights.file, _WANTED_BY, name, shape).numpy()
    return found
