"""`python -m trainables.features.fetch DIR [SET] [--no-weights]`: a set of images and VGG-16's weights, by torchvision's own
downloads."""

import argparse
import fcntl
import sys
from pathlib import Path

from sweepkit.console.streams import run_and_leave
from sweepkit.console.writing import lock_file, make_folder
from trainables.features.folders import absolute
from trainables.features.images.found import WEIGHTS, WEIGHTS_SHA256, WEIGHTS_URL, has_own_images, missing, weights_files
from trainables.features.images.sets import CIFAR100, SETS, ImageSet


def fetch(folder: Path, of: ImageSet, with_weights: bool) -> None:
    """Download the files that the folder lacks; a check sum refuses damaged ones. One process at a time downloads.

    RuntimeError if only some files of images are there: the archive would be unpacked over them.
    """
    make_folder(folder)
    with lock_file(folder / ".fetch.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if lacking := missing(folder, of):
            if has_own_images(folder, of):
                raise RuntimeError(
                    f"lacks {', '.join(lacking)}; not downloaded, because that would replace the images that are there: "
                    "put the missing files of the same data set beside them, or name another folder"
                )
            from torchvision import datasets

            print(f"downloading {of.title} ({of.megabytes} MB) into {folder} ...", file=sys.stderr)
            getattr(datasets, of.torchvision)(str(folder), download=True)
            if of.archive:
                (folder / of.archive).unlink(missing_ok=True)  # once it is unpacked
        if with_weights and not weights_files(folder):
            from torch.hub import download_url_to_file

            print(f"downloading VGG-16's weights (528 MB) into {folder} ...", file=sys.stderr)
            download_url_to_file(WEIGHTS_URL, str(folder / WEIGHTS), hash_prefix=WEIGHTS_SHA256)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m trainables.features.fetch", description="Download images, and VGG-16.")
    parser.add_argument("dir", type=Path, help="the folder that `data_dir` of a grid, or SWEEP_DATA_DIR, names")
    parser.add_argument("set", nargs="?", choices=SETS, default=CIFAR100.name, help="the images; cifar100 if not given")
    parser.add_argument(
        "--no-weights", action="store_true", help=f"not {WEIGHTS_URL}, which cifar100 with `layer: id` does not need"
    )
    given = parser.parse_args()
    of = SETS[given.set]
    try:
        fetch(absolute(given.dir), of, of == CIFAR100 and not given.no_weights)
    except (OSError, RuntimeError) as error:  # no network, no room, or a check sum that does not fit
        sys.exit(f"{given.dir}: {error}")


if __name__ == "__main__":
    run_and_leave(main)
