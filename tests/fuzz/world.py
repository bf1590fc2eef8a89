"""The directory in which fuzzed commands run: a small good store, and all that may stand where one is expected."""

import os
import shutil
from pathlib import Path

from sweepkit.store.store import Store
from tests.fuzz.grids import VALID, dumped
from tests.store_rows import rows

SECRET = "the-secret-that-no-answer-may-hold"

ALIKE = ("a[1]b", "b*c?", "it's", 'say "so"', "{x,y}", "%41 b", "naïve ü", "-c", "$HOME;x", "a~", "L=99", "cell_id=1")
"""Names of copies of the store, with characters that something on the way to DuckDB might take for its own."""

STORES = ("results", "empty", "missing", "a_file", "torn", "loop", "dangling", "foreign", "links")
"""Names in the world: a store, and what is none or a bad one."""


def make_world(folder: Path) -> Path:
    """Fill the folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(str(folder / "results"))
    store.commit("p", rows(0, 3))
    store.commit("q", [*rows(2, 3, minute=1), *rows(9, 1, status="failed", reason="out of luck")])
    store.write_plan("eq3", [f"{i:020x}" for i in range(5)])
    for name in ALIKE:
        shutil.copytree(folder / "results", folder / name / "results")
    (folder / "empty").mkdir()
    (folder / "a_file").write_text("not a directory")
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    for name, data in {"torn": b"PAR1 torn", "foreign": b"\xff\xfe\x00 not Parquet"}.items():
        for below in ("packs", "plans", "compacted", "leases", "weights"):
            (folder / name / below).mkdir(parents=True)
            (folder / name / below / "x-0123456789ab.parquet").write_bytes(data)
            (folder / name / below / "x.json").write_bytes(data)
    (folder / "links" / "packs").mkdir(parents=True)
    (folder / "links" / "packs" / "loop.parquet").symlink_to("loop.parquet")
    (folder / "links" / "packs" / "folder.parquet").mkdir()
    (folder / "links" / "plans").symlink_to("plans")
    (folder / "secret.csv").write_text(f"a,b\n{SECRET},1\n")
    (folder / "good.yaml").write_bytes(dumped(VALID[0]))
    (folder / "folder.yaml").mkdir()
    (folder / "empty.yaml").touch()
    (folder / "loop.yaml").symlink_to("loop.yaml")
    (folder / "nul.yaml").write_bytes(b"\x00" * 100)
    (folder / "large.yaml").write_bytes(b"a: 1\n" * 300_000)
    (folder / "unreadable.yaml").write_bytes(dumped(VALID[0]))
    os.chmod(folder / "unreadable.yaml", 0)
    return folder
