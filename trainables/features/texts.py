"""Texts in a user's folders, as tokens of a tokenizer that lies in a folder too: found, named by content, and made once.

A text is three files, of training, validation and test, as Wikitext's authors name them or as train.txt, valid.txt, test.txt.
Lines are tokenized one by one, each with its end, as Hugging Face's examples do. Nothing is downloaded.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sweepkit.console.cache import cache_folder
from sweepkit.console.words import listed
from trainables.basics import Array, Preparation, TaskError
from trainables.features import array_cache
from trainables.features.array_cache import Kept, Wanted
from trainables.features.digests import file_digest
from trainables.features.folders import absolute, data_folder, readable
from trainables.features.weights.pretrained import PUBLISHED

PARTS = ("train", "valid", "test")
NAMES = ("wiki.{}.tokens", "wiki.{}.raw", "{}.txt")
"""Names of the files of a text; the first kind of which all parts are there counts."""
TOKENIZERS = (("tokenizer.json",), ("vocab.json", "merges.txt"))
"""Files of a tokenizer; the first of which all are there count."""
PACKAGE = "tokenizers==0.23.3"
"""The requirement to install, of the version that was seen to read them."""
_VERSION = "1"
"""Raised whenever the same files would give other tokens."""
_LINES = 10_000
"""Lines that are tokenized together, on all cores."""


@dataclass(frozen=True)
class TextFiles:
    """A text and a tokenizer that are there."""

    folder: str
    files: tuple[str, ...]
    """Paths of the files of PARTS, in their order."""
    tokenizer: tuple[str, ...]
    digest: str
    """First digits of a sha256 over all files."""


def look(corpus: str, data_dir: str, tokenizer_dir: str) -> TextFiles:
    """The text of this name, and the tokenizer. ValueError, in one line, says what is missing, where, and what to supply."""
    above, said_by = data_folder(data_dir)
    folder = above / corpus
    with readable(folder):
        files = _first(folder, [tuple(name.format(part) for part in PARTS) for name in NAMES])
        if not files:
            names = ", or ".join(listed(name.format(part) for part in PARTS) for name in NAMES)
            raise ValueError(f"{folder} (in {said_by}) lacks the text: put there {names}")
        digests = [file_digest(file) for file in files]
    place, said_by = (absolute(tokenizer_dir), "tokenizer_dir") if tokenizer_dir else _beside_weights()
    with readable(place):
        tokenizer = _first(place, TOKENIZERS)
        if not tokenizer:
            names = ", or ".join(listed(names) for names in TOKENIZERS)
            raise ValueError(
                f"{place} ({said_by}) lacks the tokenizer: put there what Hugging Face holds of gpt2, {names}, "
                "or let tokenizer_dir name their folder"
            )
        if find_spec("tokenizers") is None:
            raise ValueError(f"texts are read by a package that is not installed: python -m pip install {PACKAGE}")
        digests += [file_digest(file) for file in tokenizer]
    digest = hashlib.sha256("\n".join(digests).encode()).hexdigest()[:8]
    return TextFiles(str(above), tuple(map(str, files)), tuple(map(str, tokenizer)), digest)


def _beside_weights() -> tuple[Path, str]:
    above, said_by = data_folder("")
    return above / next(iter(PUBLISHED)), said_by


def _first(folder: Path, kinds: Iterable[tuple[str, ...]]) -> list[Path]:
    """The files of the first kind of which all are there."""
    candidates = ([folder / name for name in names] for names in kinds)
    return next((files for files in candidates if all(file.is_file() for file in files)), [])


@lru_cache(maxsize=4)
def n_tokens(text: TextFiles) -> int:
    """Number of different tokens that the tokenizer gives. ValueError if its files cannot be read."""
    return int(_tokenizer(text).get_vocab_size(with_added_tokens=True))


def _tokenizer(text: TextFiles) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel

    try:
        if len(text.tokenizer) == 1:
            return Tokenizer.from_file(*text.tokenizer)
        found = Tokenizer(BPE.from_file(*text.tokenizer))
    except Exception as error:  # the package raises Exception itself
        raise ValueError(f"{' and '.join(text.tokenizer)} cannot be read as a tokenizer: {error}") from error
    found.pre_tokenizer = ByteLevel(add_prefix_space=False)
    return found


def wanted(text: TextFiles) -> Wanted:
    """The file of the tokens, one a row, those of training first."""
    return Wanted(f"text-{text.digest}", 1, "uint32", (("version", _VERSION), ("files", text.digest)))


def folders(text: TextFiles) -> list[Path]:
    """Folders that may hold the tokens: with the texts, so that nodes share them, else in this user's cache."""
    return [Path(text.folder, "tokens"), cache_folder() / "tokens"]


def preparation(text: TextFiles) -> list[Preparation]:
    """The file that `tokens` would make; none if it is there."""
    if array_cache.found(folders(text), wanted(text)):
        return []
    n = sum(Path(file).stat().st_size for file in text.files)
    what = f"tokens of {listed(text.files)}, at most one a byte, of 4 bytes"
    return [Preparation(what, array_cache.writable(folders(text)) / f"{wanted(text).name}.npy", 4 * n)]


_held: dict[TextFiles, Kept] = {}
"""Files that this process has checked and mapped."""


def tokens(text: TextFiles, console: Console | None = None) -> dict[str, Array]:
    """The tokens (n,) of each part. They are made now if they are not there yet. TaskError if the files are not usable."""
    if text not in _held:
        _held[text] = array_cache.made(folders(text), wanted(text), lambda: _tokenized(text), console or Console(stderr=True))
    ends = np.cumsum(_held[text].counts)
    return dict(zip(PARTS, np.split(_held[text].rows[:, 0], ends[:-1]), strict=True))


def _tokenized(text: TextFiles) -> tuple[tuple[int, ...], list[Array]]:
    try:
        tokenizer = _tokenizer(text)
        found = [_of_file(tokenizer, file) for file in text.files]
    except (ValueError, OSError) as error:  # a text that is not UTF-8 among them
        raise TaskError(f"{listed(text.files)} cannot be made tokens of: {error}") from error
    return tuple(map(len, found)), found


def _of_file(tokenizer: Any, file: str) -> Array:
    """All tokens (n, 1) of a file."""
    found = []
    with open(file, encoding="utf-8", newline="\n") as lines:
        while some := list(islice(lines, _LINES)):
            found += [np.array(one.ids, np.uint32) for one in tokenizer.encode_batch(some, add_special_tokens=False)]
    return np.concatenate([np.empty(0, np.uint32), *found])[:, None]
