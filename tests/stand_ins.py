"""Files in the places of published data and weights: planning asks whether they are there, and what they are."""

import json
from pathlib import Path

import torch

from tests.made_texts import made_text, made_tokenizer
from trainables.features.weights.pretrained import PUBLISHED, shapes_of


def stand_ins(folder: Path) -> None:
    """CIFAR-100 and VGG-16's weights in name alone; GPT-2 in three sizes, all weights one 0 with its tokenizer; made texts."""
    for name in ("cifar-100-python/train", "cifar-100-python/test", "cifar-100-python/meta", "vgg16-made.pth"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    for name, shape in list(PUBLISHED.items())[:3]:
        sizes = {"n_layer": shape.depth, "n_head": shape.heads, "n_embd": shape.embedding}
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "config.json").write_text(json.dumps(sizes | {"vocab_size": 50257, "n_positions": 1024}))
        zero, tensors = torch.zeros(1), shapes_of(shape, 50257, 1024)
        torch.save({of: zero.expand(own) for of, own in tensors.items()}, folder / name / "pytorch_model.bin")
    made_tokenizer(folder / "gpt2")
    for name in ("wikitext-2", "wikitext-103"):
        made_text(folder / name)
