"""`python -m benchmarks.bucket [--packs N] [--results s3://BUCKET/PREFIX]`: seconds of commits, listings and queries in a bucket.

Without --results the bucket is on moto's server on this machine, which is one process of Python and so slower than most.
"""

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console

from sweepkit.store.connections import close_kept
from sweepkit.store.files import open_files
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import fetch

AT_ONCE = 32
COUNT = "SELECT count(*), count(DISTINCT cell_id) FROM cells"


@contextmanager
def moto() -> Iterator[str]:
    """A bucket on a moto server of its own, as a URI; the environment names that server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/bench", method="PUT")).close()
                break
            except OSError:
                time.sleep(0.1)
        yield "s3://bench/packs"
    finally:
        server.terminate()
        server.wait()


def measure(results: str, n_packs: int) -> None:
    """Print the seconds of each step."""
    store, out = Store(results), Console(highlight=False)

    def commit(i: int) -> str:
        row = {
            "cell_id": f"{i:020x}",
            "status": "ok",
            "task": "same_different",
            "L": 2 + i % 11,
            "finished_at": datetime.now(UTC),
        }
        return store.commit(
            f"{random.Random(i).getrandbits(80):020x}", [row | {"curve_step": [0, 1], "curve_test_acc": [0.5, 0.6]}]
        )

    def timed(what: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        found = work()
        out.print(f"{what:<34} {time.perf_counter() - began:8.2f} s   {found}")

    def all_at_once() -> str:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return f"{len(list(pool.map(commit, range(n_packs))))} packs, {AT_ONCE} writers"

    timed("one commit", lambda: commit(n_packs))
    timed("commits", all_at_once)
    timed("listing", lambda: f"{len(open_files(results).entries('packs'))} packs")
    timed("first look of a machine", lambda: fetch(results, COUNT))
    timed("second look of the process", lambda: fetch(results, COUNT))
    timed("compact", lambda: f"{compact(store.files, now=True).merged} merged")
    timed("look at what was compacted", lambda: fetch(results, COUNT))
    close_kept()


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packs", type=int, default=1000)
    parser.add_argument("--results", help="an empty place in your own bucket; the files stay there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as copies:
        os.environ["SWEEP_S3_CACHE"] = copies
        if options.results:
            measure(options.results, options.packs)
        else:
            with moto() as results:
                measure(results, options.packs)


if __name__ == "__main__":
    main()
