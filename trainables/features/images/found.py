"""Finds the files of a set of images and of VGG-16's weights, names them by content, and says how to get missing ones.

Nothing here imports torch, because every plan calls it. Looking is quick and asks no server. Missing files are downloaded only
when a grid is planned, once, by a process of its own (trainables.features.fetch), if the servers answer; on a machine that is
offline the message comes within seconds.
"""

import hashlib
import shlex
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from trainables.basics import TaskError
from trainables.features.digests import file_digest
from trainables.features.folders import DATA_DIR, data_folder, readable
from trainables.features.images.files import TORN, Place, digest_and_size, placed
from trainables.features.images.sets import CIFAR100, ImageSet, Published

WEIGHTS_SHA256 = "397923af"
"""First digits of the sha256 of torchvision's VGG16_Weights.IMAGENET1K_V1."""
WEIGHTS = f"vgg16-{WEIGHTS_SHA256}.pth"
WEIGHTS_URL = f"https://download.pytorch.org/models/{WEIGHTS}"
ANSWER_S = 4.0
"""How long the servers may take to answer before this machine counts as offline."""


@dataclass(frozen=True)
class Found:
    """Data that are there: the folder, and names that change with the content of the images and of the weights."""

    of: ImageSet
    folder: str
    places: tuple[Place, ...]
    """Where each file of the set lies."""
    images: str
    most: tuple[int, int]
    """Number of training and of test images; of files that are a user's own upper bounds, from their sizes."""
    weights: str
    """Empty where the layer needs none."""
    weights_file: str

    @property
    def name(self) -> str:
        """The data behind a network's numbers, by name: `cifar100+vgg16-397923af`."""
        return "+".join(filter(None, (self.images, self.weights)))

    @property
    def is_published(self) -> bool:
        """True if the images are those that the set's authors publish."""
        return self.images == self.of.name


def look(data_dir: str, of: ImageSet, with_weights: bool = False) -> Found:
    """The data in `data_dir`, else in the environment's folder, else in this user's cache. Nothing is downloaded.

    ValueError, in one line, says which files are missing, in which folder, and how to get them, or what is wrong with a file.
    """
    folder, said_by = data_folder(data_dir)
    with readable(folder):
        places = placed(folder, of)
        if lacking := _missing(folder, of, places, with_weights):
            raise ValueError(_how_to_get(folder, said_by, of, lacking, with_weights))
        there = {file: place for file, place in places.items() if place}
        weights_file = weights_of(folder) if with_weights else None
        images, most = _images(of, there)
        return Found(of, str(folder), tuple(there.values()), images, most, _weights_name(weights_file), str(weights_file or ""))


def fetched(data_dir: str, of: ImageSet, with_weights: bool = False) -> None:
    """Download the files that `look` would miss. TaskError, in one line, says why that failed and how else to get them."""
    folder, said_by = data_folder(data_dir)
    if missing(folder, of, with_weights):
        why = _fetched(folder, of, with_weights)
        if lacking := missing(folder, of, with_weights):
            raise TaskError(_how_to_get(folder, said_by, of, lacking, with_weights, why))


def missing(folder: Path, of: ImageSet, with_weights: bool = False) -> list[str]:
    """Needed files that are not there, as paths relative to the folder."""
    return _missing(folder, of, placed(folder, of), with_weights)


def _missing(folder: Path, of: ImageSet, places: dict[Published, Place | None], with_weights: bool) -> list[str]:
    lacking = [f"{of.folders[0]}/{file.name}" for file, place in places.items() if place is None]
    return lacking + ([WEIGHTS] if with_weights and not weights_files(folder) else [])


def has_own_images(folder: Path, of: ImageSet) -> bool:
    """True if the folder holds a file of the set, which a download would replace."""
    return any(placed(folder, of).values())


def weights_of(folder: Path) -> Path:
    """The file of weights: torchvision's own, else the only `vgg16-*.pth`. ValueError if there are several."""
    files = weights_files(folder)
    own = folder / WEIGHTS
    if own in files:
        return own
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ValueError(f"{folder} holds several files of weights, {names}, and none is {WEIGHTS}: leave one")
    return files[0]


def weights_files(folder: Path) -> list[Path]:
    """Files that may hold VGG-16's weights, sorted."""
    return sorted(folder.glob("vgg16-*.pth"))


def _images(of: ImageSet, places: dict[Published, Place]) -> tuple[str, tuple[int, int]]:
    """The set's name for the published files, else a digest of these; and how many images they may hold, as `Found.most`."""
    found = {file: _digest_and_size(file, place) for file, place in places.items()}
    if all(md5 == file.md5 for file, (md5, _) in found.items()):
        return of.name, _counted(of, {file: file.n_images for file in of.files})
    for file, (md5, size) in found.items():
        if size == file.n_bytes and md5 != file.md5:
            raise ValueError(
                f"{places[file]} has the size of {of.title}'s own file, but its md5 is {md5}, not {file.md5}: it is damaged; "
                f"delete {_home(of)} and download it again (a file of images of your own must have another size)"
            )
    digest = hashlib.sha256("\n".join(md5 for md5, _ in found.values()).encode()).hexdigest()[:12]
    most = {file: size // of.n_pixels if file.n_images else 0 for file, (_, size) in found.items()}
    return f"images-{digest}", _counted(of, most)


def _digest_and_size(file: Published, place: Place) -> tuple[str, int]:
    try:
        return digest_and_size(place, file)
    except TORN as error:
        raise ValueError(f"{place} is torn ({error}); replace it") from None


def _counted(of: ImageSet, images: dict[Published, int]) -> tuple[int, int]:
    train = sum(images[file] for file in of.files if file.part == "train")
    return train, sum(images.values()) - train


def _home(of: ImageSet) -> str:
    return f"the folder {of.folders[0]}" if of.is_pickled else "the file"


def _weights_name(file: Path | None) -> str:
    """`vgg16-` and the first digits of the file's sha256; those of torchvision's own file must be the digits in its name."""
    if file is None:
        return ""
    digest = file_digest(file)
    if file.name == WEIGHTS and not digest.startswith(WEIGHTS_SHA256):
        raise ValueError(f"{file} is torn or another file: its sha256 starts with {digest[:8]}; delete or rename it")
    return f"vgg16-{digest[: 8 if file.name == WEIGHTS else 12]}"


@lru_cache(maxsize=64)
def _fetched(folder: Path, of: ImageSet, with_weights: bool) -> str:
    """Download the missing files, at most once per process. Returns why that failed, else an empty text."""
    lacks_images = bool(missing(folder, of))
    if lacks_images and has_own_images(folder, of):
        return f"not downloaded, because that would replace the images that are there in {of.folders[0]}"
    urls = [of.urls[0]] if lacks_images else []
    urls += [WEIGHTS_URL] if with_weights and not weights_files(folder) else []
    silent = [urlsplit(url).netloc for url in urls if not reachable(url)]
    if silent:
        return f"not downloaded, because {' and '.join(silent)} cannot be reached from here"
    # Its text and progress bars go to standard error: the standard output of a sweep is for its summary.
    done = subprocess.run(fetch_command(sys.executable, folder, of, with_weights), stdout=2, check=False)
    return "the download failed" if done.returncode else ""


def fetch_command(python: str, folder: Path, of: ImageSet, with_weights: bool) -> list[str]:
    """The command that downloads the folder's missing files."""
    what = [] if with_weights else ["--no-weights"] if of == CIFAR100 else [of.name]
    return [python, "-m", "trainables.features.fetch", str(folder), *what]


def reachable(url: str) -> bool:
    """Whether the server answers within ANSWER_S. A thread asks, because looking up a host name has no time limit."""
    from urllib.request import Request, urlopen  # here: few plans need it

    answered: list[bool] = []

    def ask() -> None:
        try:
            urlopen(Request(url, method="HEAD"), timeout=ANSWER_S).close()
        except OSError:  # the base of all urllib's errors
            return
        answered.append(True)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ANSWER_S)
    return bool(answered)


def _how_to_get(folder: Path, said_by: str, of: ImageSet, lacking: list[str], with_weights: bool, why: str = "") -> str:
    said = (
        f"{folder} ({said_by}) lacks {', '.join(lacking)}{'; ' if why else ''}{why}. Name a folder that has them as data_dir in "
        f"the grid or in the environment variable {DATA_DIR}"
    )
    hand, images = [], [path for path in lacking if path != WEIGHTS]
    if images and (folder / of.archive).is_file():
        said += f" ({of.archive} is there, but it is damaged: its md5 is not {of.archive_md5})"
    if images and has_own_images(folder, of):
        return f"{said}; or put {', '.join(images)} of the same data set beside what is there"
    if images and of.archive:
        hand.append(f"put {of.urls[0]} ({of.megabytes} MB) there, unpacked or not")
    elif images:
        hand.append(f"put {', '.join(of.urls)} ({of.megabytes} MB) into {of.folders[0]} there, unpacked or not")
    if WEIGHTS in lacking:
        hand.append(f"put {WEIGHTS_URL} (528 MB) there")
    command = shlex.join(fetch_command("python", folder, of, with_weights))
    return f"{said}; or download them: {command}; or by hand: {' and '.join(hand)}"
