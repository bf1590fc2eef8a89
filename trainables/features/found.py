"""Finds the files of CIFAR-100 and of VGG-16's weights, names them by content, and says how to get missing ones.

Nothing here imports torch, because every plan calls it. Looking is quick and asks no server. Missing files are downloaded only
when a grid is planned, once, by a process of its own (trainables.features.fetch), if the servers answer; on a machine that is
offline the message comes within seconds.
"""

import hashlib
import os
import shlex
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from console.cache import cache_folder
from trainables.basics import TaskError
from trainables.features.digests import file_digest

DATA_DIR = "SWEEP_DATA_DIR"
"""Environment variable that names the folder if the grid does not."""
IMAGES = "cifar-100-python"
"""Folder of the images, as its archive unpacks and as torchvision looks for it."""
OFFICIAL_IMAGES = {"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}
"""md5 of the files of CIFAR-100 [Krizhevsky 2009]; torchvision compares the same."""
OFFICIAL_BYTES = {"train": 155_249_918, "test": 31_049_958}
"""Sizes of these files. A file of that size with another content counts as the official one, damaged."""
IMAGES_URL = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
WEIGHTS = "vgg16-397923af.pth"
"""torchvision's VGG16_Weights.IMAGENET1K_V1; the digits are the first of its sha256."""
WEIGHTS_URL = f"https://download.pytorch.org/models/{WEIGHTS}"
ANSWER_S = 4.0
"""How long the servers may take to answer before this machine counts as offline."""


@dataclass(frozen=True)
class Found:
    """Data that are there: the folder, and names that change with the content of the images and of the weights."""

    folder: str
    images: str
    weights: str
    """Empty where the layer needs none."""
    weights_file: str

    @property
    def name(self) -> str:
        """The data behind a network's numbers, by name: `cifar100+vgg16-397923af`."""
        return "+".join(filter(None, (self.images, self.weights)))


def look(data_dir: str, with_weights: bool) -> Found:
    """The data in `data_dir`, else in the environment's folder, else in this user's cache. Nothing is downloaded.

    ValueError, in one line, says which files are missing, in which folder, and how to get them, or what is wrong with a file.
    """
    folder, said_by = data_folder(data_dir)
    if lacking := missing(folder, with_weights):
        raise ValueError(_how_to_get(folder, said_by, lacking, with_weights))
    try:
        weights_file = weights_of(folder) if with_weights else None
        return Found(str(folder), _images_name(folder), _weights_name(weights_file), str(weights_file or ""))
    except OSError as error:
        raise ValueError(f"{error.filename} cannot be read: {error.strerror}") from None


def fetched(data_dir: str, with_weights: bool) -> None:
    """Download the files that `look` would miss. TaskError, in one line, says why that failed and how else to get them."""
    folder, said_by = data_folder(data_dir)
    if missing(folder, with_weights):
        why = _fetched(folder, with_weights)
        if lacking := missing(folder, with_weights):
            raise TaskError(_how_to_get(folder, said_by, lacking, with_weights, why))


def data_folder(data_dir: str) -> tuple[Path, str]:
    """The absolute path of the folder, and who named it. A relative path starts at the current directory."""
    if data_dir:
        return Path(data_dir).expanduser().absolute(), "the grid's data_dir"
    if named := os.environ.get(DATA_DIR):
        return Path(named).expanduser().absolute(), DATA_DIR
    return cache_folder() / "data", "the default place"


def missing(folder: Path, with_weights: bool) -> list[str]:
    """Needed files that are not there, as paths relative to the folder."""
    files = [f"{IMAGES}/{name}" for name in (*OFFICIAL_IMAGES, "meta")]
    lacking = [file for file in files if not (folder / file).is_file()]
    return lacking + ([WEIGHTS] if with_weights and not _weights_files(folder) else [])


def has_own_images(folder: Path) -> bool:
    """Whether the folder holds a file of images, which a download would replace."""
    return any((folder / IMAGES / name).is_file() for name in OFFICIAL_IMAGES)


def weights_of(folder: Path) -> Path:
    """The file of weights: torchvision's own, else the only `vgg16-*.pth`. ValueError if there are several."""
    files = _weights_files(folder)
    own = folder / WEIGHTS
    if own in files:
        return own
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ValueError(f"{folder} holds several files of weights, {names}, and none is {WEIGHTS}: leave one")
    return files[0]


def _weights_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("vgg16-*.pth"))


def _images_name(folder: Path) -> str:
    """`cifar100` for the official files, else a digest of these."""
    found = {name: file_digest(folder / IMAGES / name, "md5") for name in OFFICIAL_IMAGES}
    if found == OFFICIAL_IMAGES:
        return "cifar100"
    for name, md5 in found.items():
        file = folder / IMAGES / name
        if file.stat().st_size == OFFICIAL_BYTES[name] and md5 != OFFICIAL_IMAGES[name]:
            raise ValueError(
                f"{file} has the size of CIFAR-100's own file, but its md5 is {md5}, not {OFFICIAL_IMAGES[name]}: it is damaged; "
                f"delete the folder {IMAGES} and download it again (a file of images of your own must have another size)"
            )
    return "images-" + hashlib.sha256("\n".join(found.values()).encode()).hexdigest()[:12]


def _weights_name(file: Path | None) -> str:
    """`vgg16-` and the first digits of the file's sha256; those of torchvision's own file must be the digits in its name."""
    if file is None:
        return ""
    digest = file_digest(file)
    if file.name == WEIGHTS and digest[:8] != WEIGHTS[6:14]:
        raise ValueError(f"{file} is torn or another file: its sha256 starts with {digest[:8]}; delete or rename it")
    return f"vgg16-{digest[: 8 if file.name == WEIGHTS else 12]}"


@lru_cache(maxsize=64)
def _fetched(folder: Path, with_weights: bool) -> str:
    """Download the missing files, at most once per process. Returns why that failed, else an empty text."""
    if missing(folder, False) and has_own_images(folder):
        return f"not downloaded, because that would replace the images that are there in {IMAGES}"
    urls = [IMAGES_URL] if missing(folder, False) else []
    urls += [WEIGHTS_URL] if with_weights and not _weights_files(folder) else []
    silent = [urlsplit(url).netloc for url in urls if not reachable(url)]
    if silent:
        return f"not downloaded, because {' and '.join(silent)} cannot be reached from here"
    # Its text and progress bars go to standard error: the standard output of a sweep is for its summary.
    done = subprocess.run(fetch_command(sys.executable, folder, with_weights), stdout=2, check=False)
    return "the download failed" if done.returncode else ""


def fetch_command(python: str, folder: Path, with_weights: bool) -> list[str]:
    """The command that downloads the folder's missing files."""
    return [python, "-m", "trainables.features.fetch", str(folder), *([] if with_weights else ["--no-weights"])]


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


def _how_to_get(folder: Path, said_by: str, lacking: list[str], with_weights: bool, why: str = "") -> str:
    said = (
        f"{folder} ({said_by}) lacks {', '.join(lacking)}{'; ' if why else ''}{why}. Name a folder that has them as data_dir in "
        f"the grid or in the environment variable {DATA_DIR}"
    )
    hand, images = [], [path for path in lacking if IMAGES in path]
    if images and has_own_images(folder):
        return f"{said}; or put {', '.join(images)} of the same data set beside what is there"
    if images:
        hand.append(f"unpack {IMAGES_URL} (169 MB) there")
    if any(path.endswith(".pth") for path in lacking):
        hand.append(f"put {WEIGHTS_URL} (528 MB) there")
    command = shlex.join(fetch_command("python", folder, with_weights))
    return f"{said}; or download them: {command}; or by hand: {' and '.join(hand)}"
