"""Strategies for cases: a program, its words, and the files that these name."""

from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.cases import Case
from tests.fuzz.field import fielded
from tests.fuzz.grids import EXCLUDES, GRIDS, KEYS, VALID, WORDS, dumped
from tests.fuzz.own_files import owned
from tests.fuzz.sql import filled, queries
from tests.fuzz.world import STORES
from trainables.engines import ENGINES

FILES = ("grid.yaml", "grid.yaml", "grid.yaml", "good.yaml", "good.yaml", "gird.yaml", "folder.yaml", "empty.yaml",
"loop.yaml", "nul.yaml",
         "large.yaml", "unreadable.yaml", "/dev/null", "", ".", "..", "a_file/x.yaml", "a" * 300, "\udcff.yaml",
         "x\x1b[31m.yaml", "-")  # fmt: skip

# What an operating system can hand over: no NUL, and bytes that are no UTF-8 as lone surrogates.
ARGUMENTS = st.one_of(
    WORDS, st.sampled_from(["\udcff", "-", "--", "", " ", "=", "--nothing", "-x", "0", "1e9", "[/]", "$(touch pwned)"])
).map(lambda text: "".join(c for c in text.replace("\0", "") if not "\ud800" <= c < "\udc80"))
RESULTS = st.one_of(
    st.sampled_from(STORES),
    st.sampled_from(["s3://bucket/x", "file://results", "http://[", "", " ", "~nobody/x", "/dev/null", "/dev/null/x", "/proc/1/x",
                     "results/packs", "a" * 300, "x\x1b]0;title\x07", "\udcff", "s3://", "://", "results/../results"]),
)  # fmt: skip

_GENERAL = (
    "network=mlp", "network=relu2,mlp", "training=sgd", "training=adam", "training=sgd,adam", "depth=1,2", "loss=mse",
    "momentum=0.5", "task=he3",
) if "stacked" in ENGINES else ()  # fmt: skip

_OVERRIDES = st.one_of(
    st.tuples(KEYS, st.one_of(st.integers(-3, 50).map(str), WORDS, st.sampled_from(
        ["1,2", "range(3)", "range(0,1e12)", "range(1,2", "pow2(1,3)", "log10(-2,0,3)", "f(x)", "", ",", "1,,2", "[1]",
        "{a: 1}", "&a [*a]",
         "!!python/name:os.system", "lazy", "nan", "1e400", "__import__('os')", "range(range(3))", "range(10000000000000)",
         "\udcff"])),
    ).map(lambda pair: f"{pair[0]}={pair[1]}".replace("\0", "")),
    st.sampled_from(
        ["network=mpl", "network=erf2", "network=relu2,erf2", "network=7", "network=", "network=lazy", "training=langevin",
         "training=adma", "training=range(3)", "networks=own.py", "metrics=own.py", "save=sparsity", "save=curves,weights",
         *_GENERAL]),
    st.sampled_from([f"exclude={text}".replace("\0", "") for text in EXCLUDES[:5]]), ARGUMENTS,
)  # fmt: skip


def _flag(name: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return values.map(lambda value: [name, value])


_NUMBERS = st.sampled_from(["0", "1", "-1", "3", "1e3", "x", "", "99999999999999999999999", "nan"])
_SWEEP_FLAGS = st.one_of(
    st.sampled_from([["--json"], ["-q"], ["-v"], ["--retry-failed"], ["--force"], ["--fail-fast"], ["--debug"], ["--dry-run"]]),
    _flag("--engine", st.one_of(st.sampled_from(["auto", "gram", "batched", "reference", "patches", "cuda"]), ARGUMENTS)),
    _flag("--order", st.one_of(st.sampled_from(["seed-first", "grid", "shuffled"]), ARGUMENTS)),
    _flag("--limit", _NUMBERS), _flag("--max-concurrent", _NUMBERS), _flag("--address", ARGUMENTS),
    ARGUMENTS.map(lambda word: [word]),
)  # fmt: skip


@st.composite
def sweeps(draw: st.DrawFn) -> Case:
    """Grids mostly; and command lines over good and bad ones."""
    if draw(st.booleans()):
        return Case("sweep", ("grid.yaml", "--dry-run"), draw(GRIDS))
    words = [draw(st.sampled_from(FILES)), *draw(st.lists(_OVERRIDES, max_size=3)), "--dry-run"]
    for flags in draw(st.lists(_SWEEP_FLAGS, max_size=3)):
        words += flags
    if draw(st.booleans()):
        words += ["--results", draw(RESULTS)]
    return Case("sweep", tuple(words), draw(st.one_of(GRIDS, st.sampled_from([dumped(grid) for grid in VALID]))))


@st.composite
def stores(draw: st.DrawFn) -> Case:
    """All that looks after a results directory; what may change one is only ever given what is none, or one already broken."""
    command = draw(st.sampled_from(["status", "status", "check", "compact", "export", "stauts", "", "--help"]))
    words = [command, *draw(st.lists(st.one_of(st.sampled_from(["--json", "--help", "--no-csv"]), ARGUMENTS), max_size=2))]
    if command in ("compact", "export"):
        bad = ("missing", "a_file", "loop", "dangling", "s3://bucket", "", "/dev/null")
        return Case("store", (*words, "--results", draw(st.sampled_from(bad))))
    return Case("store", (*words, "--results", draw(RESULTS)))


@st.composite
def asked(draw: st.DrawFn, world: Path, program: str) -> Case:
    """SQL, on the command line or for the guard of the app."""
    query, writes = draw(queries())
    places = {"out": "out", "secret": "secret.csv", "live": _live(world)}
    sql = filled(query, world=str(world), **{name: str(world / place) for name, place in places.items()})
    if program == "guard":
        return Case("guard", (sql,), writes=writes)
    sql = sql.replace("\0", "")
    words = [sql, "--format", draw(st.sampled_from(["table", "table", "csv", "json", "parquet", "", "tabel", "\x1b[31m"]))]
    words += ["--rows", draw(_NUMBERS)] if draw(st.integers(0, 3)) == 0 else []
    words += ["--results", "results" if draw(st.integers(0, 5)) else draw(RESULTS)]
    return Case("query", tuple(words), writes=writes)


@st.composite
def drawn(draw: st.DrawFn) -> Case:
    """Reports and figures that cannot be made: each takes seconds where it can."""
    bad = ("missing", "a_file", "loop", "dangling", "s3://bucket/x", "", "/dev/null", "\udcff", "x\x1b[31m")
    out = draw(st.one_of(st.sampled_from(["out", "empty", "a_file/x", "/proc/x", ""]), ARGUMENTS))
    more = draw(st.sampled_from([[], ["--no-wait"], ["--nothing"], ["-q"], ["x", "y"]]))
    if draw(st.booleans()):
        return Case("report", ("--out", out, *more, "--results", draw(st.sampled_from(bad))))
    figure = draw(st.one_of(st.sampled_from(["1c", "2", "3h", "9z", ""]), ARGUMENTS))
    sweep = ["--sweep", draw(ARGUMENTS)] if draw(st.booleans()) else []
    return Case("figures", (figure, *sweep, "--out", out, *more, "--results", draw(st.sampled_from(bad))))


def _live(world: Path) -> str:
    return str(min((world / "results" / "packs").iterdir()).relative_to(world))


def strategies(world: Path) -> dict[str, tuple[st.SearchStrategy[Case], float]]:
    """By name, and the share that each has of all cases."""
    return {
        "grids and sweeps": (sweeps(), 0.35),
        "own files": (owned(), 0.1),
        "SQL in the app": (asked(world, "guard"), 0.2),
        "SQL on the command line": (asked(world, "query"), 0.15),
        "store": (stores(), 0.1),
        "reports and figures": (drawn(), 0.05),
        "from the field": (fielded(), 0.05),
    }
