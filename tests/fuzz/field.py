"""Kinds of input that made tools like this one fail for their users: names, variables, line ends, streams, YAML given twice."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.cases import Case
from tests.fuzz.grids import VALID, dumped
from tests.fuzz.own_files import OWN, can_be_run, case_of
from tests.fuzz.world import ALIKE

ROOT = Path(__file__).parents[2]
_QUERIES = (
    "SELECT * FROM cells ORDER BY ALL", "SELECT L, count(*) AS n FROM cells GROUP BY ALL ORDER BY ALL", "DESCRIBE cells",
    "SELECT count(*) FROM plans JOIN cells USING (cell_id)", "SELECT * FROM curves ORDER BY ALL", "SELEC 1", 
    "SELECT nothing FROM cells",
)  # fmt: skip
_VARIABLES = {
    "HOME": ("/nonexistent", "/dev/null", "relative", "", "/proc"),
    "TMPDIR": ("/nonexistent", "/dev/null", "/tmp/" + "x" * 120, ""),
    "GIT_DIR": ("/nonexistent/.git", "", "."),
    "GIT_WORK_TREE": ("/",),
    "GIT_CEILING_DIRECTORIES": ("/",),
    "RAY_ADDRESS": ("127.0.0.1:1", "auto", "local", "x\x1b[31m", ""),
    "PYTHONIOENCODING": ("ascii",),
    "LC_ALL": ("C", "nonsense"),
    "TERM": ("dumb", ""),
    "COLUMNS": ("1", "x", "0"),
    "PATH": ("", "/nonexistent"),
    "AWS_PROFILE": ("nobody",),
    "OMP_NUM_THREADS": ("0", "x"),
    "CUDA_VISIBLE_DEVICES": ("", "-1", "7"),
}
_COMMANDS = (
    Case("sweep", ("good.yaml", "--dry-run")), Case("sweep", ("good.yaml", "--dry-run", "--json")),
    Case("sweep", ("good.yaml", "nothing=1", "--dry-run")), Case("sweep", ("gird.yaml", "--dry-run")),
    Case("sweep", ("--help",)), Case("sweep", ("good.yaml", "--nothing")),
    *(Case("query", (sql,)) for sql in _QUERIES), Case("query", (_QUERIES[0], "--format", "table")), Case("query", ()),
    Case("store", ("status",)), Case("store", ("status", "--json")), Case("store", ("check",)), Case("store", ("--help",)),
    Case("store", ("status", "--results", "torn")), Case("store", ("check", "--results", "links")),
    Case("query", ("SELECT 1", "--results", "loop")), Case("figures", ("9z",)), Case("report", ("--results", "missing")),
)  # fmt: skip
_GOOD = [own for what, own in OWN.items() if own.verdict == "good" and can_be_run(own)]
_ODD = (b"\0", b"\xff", b"\t: [", b"*x", b"\x1b[31m", b"}", b"\n- &a [*a]\n", b"!!python/name:os.system x")
_CLUSTER = (ROOT / "cluster.onprem.yaml").read_text()
_CLAIMS = "claims:\n- {id: a, topic: t, source: s, says: x, not_measured: y}\n"


def _with_ends(data: bytes, end: bytes, mark: bytes) -> bytes:
    return mark + data.replace(b"\n", end)


@st.composite
def fielded(draw: st.DrawFn) -> Case:
    """One kind each; what becomes of it is known for most."""
    match draw(st.sampled_from(["names", "streams", "variables", "ends", "twice", "damaged", "small packs"])):
        case "names":
            place = f"{draw(st.sampled_from(ALIKE))}/results"
            return Case("query", (draw(st.sampled_from(_QUERIES)), "--results", place), alike=place)
        case "streams":
            return replace(draw(st.sampled_from(_COMMANDS)), lost=draw(st.sampled_from([(1,), (2,), (1, 2)])))
        case "variables":
            names = draw(st.lists(st.sampled_from(sorted(_VARIABLES)), min_size=1, max_size=3, unique=True))
            values = tuple((name, draw(st.sampled_from(_VARIABLES[name]))) for name in names)
            umask = draw(st.sampled_from([0o022, 0o077, 0, 0o777]))
            return replace(draw(st.sampled_from(_COMMANDS)), environment=values, umask=umask)
        case "ends":
            end, mark = draw(st.sampled_from([b"\r\n", b"\r", b"\n"])), draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
            case = draw(st.sampled_from([*(Case("sweep", ("grid.yaml", "--dry-run"), dumped(grid)) for grid in VALID), None]))
            case = case or case_of(draw(st.sampled_from(_GOOD)))
            beside = tuple((name, _with_ends(data, end, mark)) for name, data in case.beside)
            return replace(case, grid=_with_ends(case.grid or b"", end, mark), beside=beside, expected=0)
        case "twice":
            return _twice(draw)
        case "damaged":
            program, words, name, text = draw(st.sampled_from(_FILES))
            data, i = text.encode(), draw(st.integers(0, len(text)))
            odd = draw(st.sampled_from(_ODD))
            return Case(program, words, beside=((name, data[:i] + odd + data[i:]),))
        case _:
            cpus = draw(st.sampled_from([1e-9, 0.001, 0.03, 0.5, 3, 1e6]))
            grid = {**VALID[0], "resources": {"cpus_per_pack": cpus}}
            words = ("--max-concurrent", str(draw(st.sampled_from([1, 2, 1000]))), "--dry-run")
            return Case("sweep", ("grid.yaml", *words), dumped(grid))


_FILES = (
    ("sweep", ("other.yaml", "--dry-run"), "other.yaml", dumped(VALID[0]).decode()),
    *(("launch", (verb, "cluster.yaml"), "cluster.yaml", _CLUSTER) for verb in ("up", "down", "status")),
    ("claims", ("claims.yaml",), "claims.yaml", _CLAIMS),
)
"""Programs that read YAML: their words, and a file that would do, but for the places to edit in the cluster file."""


def _twice(draw: st.DrawFn) -> Case:
    """A file one of whose keys is given twice."""
    program, words, name, text = draw(st.sampled_from(_FILES))
    lines = text.splitlines(keepends=True)
    keys = [i for i, line in enumerate(lines) if re.match(r" *[\w/~.]+:(?: |$)", line)]
    i = draw(st.sampled_from(keys))
    key = lines[i].split(":")[0]
    lines.insert(i, f"{key}: 1\n")
    if not key.strip().isidentifier():
        return Case(program, words, beside=((name, "".join(lines).encode()),), expected=2)
    said = f"key {key.strip()!r} is given twice (first in line {i + 1}); keep one"
    return Case(program, words, beside=((name, "".join(lines).encode()),), expected=2, says=said)
