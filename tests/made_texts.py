"""A made text and a made tokenizer in folders, as users have Wikitext and GPT-2's tokenizer."""

import json
from pathlib import Path

import numpy as np

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "saw", "dogs")


def made_text(folder, names="wiki.{}.tokens", n_lines=120, seed=0):
    """Three files of lines of a few words, and the text of each by its part."""
    rng, folder = np.random.default_rng(seed), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for part, n in (("train", n_lines), ("valid", 40), ("test", 40)):
        lines = [" " + " ".join(rng.choice(WORDS, rng.integers(0, 9))) + " \n" for _ in range(n)]
        found[part] = "".join(lines)
        (folder / names.format(part)).write_text(found[part])
    return found


def made_tokenizer(folder, in_one_file=False):
    """A byte-level tokenizer of 256 bytes and a few merged ones, in GPT-2's files."""
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("a", "t"), ("Ġ", "c"), ("Ġc", "at")]
    words = [*sorted(ByteLevel.alphabet()), *("".join(pair) for pair in merges)]
    vocabulary = {word: number for number, word in enumerate(words)}
    if in_one_file:
        made = Tokenizer(BPE(vocabulary, merges))
        made.pre_tokenizer = ByteLevel(add_prefix_space=False)
        made.save(str(folder / "tokenizer.json"))
    else:
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{one} {other}\n" for one, other in merges))
