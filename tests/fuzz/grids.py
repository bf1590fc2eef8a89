"""Strategies for grid files: valid ones, then changed in their structure, then in their text, then in their bytes."""

import copy
from typing import Any

import yaml
from hypothesis import strategies as st

from trainables.engines import ENGINES

_GENERAL: tuple[dict[str, Any], ...] = (
    {
        "defaults": {"steps": 20, "eval_every": 10, "test_size": 16, "seed": 0, "d": 8, "width": 8},
        "grids": [
            {
                "task": "same_different", "network": ["relu2", "mlp"], "training": ["sgd", "adam"], "depth": [1, 2], "L": 3,
                "activation": ["relu", "erf"], "gamma": 1, "momentum": 0.9, "base_lr": 0.1, "beta1": 0.8,
                "zip": [["depth", "activation"]],
                "exclude": ["depth > 1 and training == 'adam'", "network == 'relu2' and gamma < 1"],
            },
            {
                "task": "he3", "network": "mlp", "training": "gd", "P": [10, 20], "gamma": [1, "lazy"], "centred": True,
                "parametrisation": ["standard", "ntk", "mup"], "bias": [False, True], "base_lr": 0.1, "loss": "mse",
            },
        ],
    },
    {
        "grids": [
            {
                "task": "same_different", "network": "mlp", "training": "adamw", "L": [3, 4], "d": 8, "width": 8,
                "weight_decay": 0.1, "seed": {"range": 2}, "steps": 20, "eval_every": 10,
                "find": {"axis": "init_scale", "metric": "best_test_acc", "at": 0.7, "range": [0.5, 2], "tolerance": 0.3},
            },
        ],
    },
)  # fmt: skip
"""Networks and trainings that take the general engine."""

VALID: tuple[dict[str, Any], ...] = (
    {
        "sweep": "small",
        "defaults": {"steps": 200, "eval_every": 100, "width": 32, "batch": 32, "test_size": 64},
        "grids": [
            {
                "task": "same_different", "L": [3, 5], "d": 16, "gamma": [1, "lazy"], "seed": {"range": 3},
                "zip": [], "exclude": ["L > d"], "save": ["curves"],
            }
        ],
        "resources": {"gpus_per_pack": "auto", "cpus_per_pack": 1, "pack_seconds": 60},
    },
    {
        "grids": [
            {
                "task": "psvrt", "L": {"pow2": [1, 3]}, "patches": 2, "width": [16, 32], "gamma": {"log10": [-2, 0, 3]},
                "seed": 0, "steps": 100, "eval_every": 100, "zip": [["L", "gamma"]],
            },
            {"task": "pentomino", "L": 4, "width": 16, "gamma": 0.5, "seed": {"range": [0, 2]}, "steps": 100, "eval_every": 50},
        ],
    },
    {"grids": [{"task": "same_different", "L": 3, "d": {"geomspace": [8, 32, 3]}, "width": 8, "gamma": 1, "seed": 1}]},
    {
        "defaults": {"eval_every": 50},
        "grids": [
            {
                "task": "same_different", "d": [8, 16], "gamma": [1, "lazy"], "width": 16, "seed": {"range": 3}, "steps": 100,
                "find": {"axis": "L", "metric": "best_test_acc", "at": 0.8, "range": [2, 64], "tolerance": 0.2, "falling": False},
            },
            {
                "task": "he3", "network": "erf2", "d": [4, 6], "width": [4, 6], "zip": [["d", "width"]], "P": 10, "kappa": 0.5,
                "scaling": "standard", "seed": 0, "steps": 40, "eval_every": 5, "chains": 2, "test_size": 16,
            },
        ],
    },
    {
        "defaults": {"steps": 20, "eval_every": 10, "test_size": 16, "seed": 0},
        "grids": [
            {
                "task": "he3", "network": ["erf2", "linear2", "relu2"], "training": "langevin", "d": 6, "width": [4, 8],
                "P": 10, "kappa": 1, "scaling": ["standard", "mean_field"], "chains": 2, "steps": 40, "eval_every": 5,
                "exclude": ["network == 'relu2' and width > 4", "scaling == 'mean_field' and network == 'linear2'"],
            },
            {
                "task": "same_different", "network": "relu2", "training": ["sgd"], "momentum": 0, "L": 3, "d": 8, "width": 8,
                "gamma": 1, "batch": [8, 16], "base_lr": [0.1, 0.2], "zip": [["batch", "base_lr"]],
            },
        ],
    },
    *(_GENERAL if "stacked" in ENGINES else ()),
)  # fmt: skip
"""The valid grids that are then changed. None asks for data that a machine may lack."""

EXCLUDES = (
    "__import__('os').system('touch pwned') == 0", "open('pwned', 'w') == 1", "L.__class__.__mro__ == 1", "(lambda: 1)() == 1",
    "[x for x in (1).__class__.__base__.__subclasses__()] == 1", "9**9**9 > 1", "9**9**9**9**9 > L", "'a' * 10**9 == 'b'",
    "10**400 > 1", "1 << 10**9 > 1", "L % 0 == 1", "L / 0 > 1", "L in gamma", "L < gamma < 'x'", "f'{L}' == '3'", "(L := 3) > 1",
    "L if L else d", "L > ", "L >", "L", "True", "", " ", "L > d", "gamma == 'lazy'", "gamma == lazy and L > 2", "Ł > d",
    "L > d\x00",
    "not " * 70 + "L > 1", "-" * 290 + "L > 1", "(" * 100 + "L" + ")" * 100 + " > 1", "(" * 250 + "L > 1",
    "L > 1 or " * 32 + "L > 2",
    "L > 1" * 200, "L > {1: 2}", "L == ...", "L is None", "L @ d > 1", "eval('1') == 1", "exec('1') == 1", "seed in [0, 1, [2]]",
    "(-1) ** 0.5 > L", "1e400 > L", "1j > L", "b'x' == L", "*L > 1", "await L > 1", "yield > 1", "task == 'psvrt'",
    "data_dir == ''", "network == 'mlp'", "network == mlp", "network in ['mlp', 'relu2']", "network > 1", "training == 'adam'",
    "training != network", "depth > 1", "activation == relu", "network.name == 'x'",
)  # fmt: skip

NUMBERS = st.one_of(
    st.integers(-3, 40), st.sampled_from([0, -1, 2**31, 2**63 - 1, 2**63, 10**12, 10**30, 10**4000, 1e308, 1e-320, -0.0, 0.5]),
    st.sampled_from([float("inf"), float("-inf"), float("nan")]), st.floats(),
)  # fmt: skip

FORMS = st.sampled_from(["range", "linspace", "geomspace", "pow2", "log10", "rnge", "eval", "<<"])
_NAMES = ("mlp", "sgd", "adam", "mse", "cross_entropy")
WORDS = st.one_of(
    st.sampled_from(["lazy", "LAZY", "relu2", "erf2", "mpl", "langevin", "adma", *(_NAMES if "stacked" in ENGINES else ()),
                     "same_different", "same-different", "psvrt", "pentomino", "auto", "curves", "1e3", "inf",
    "~", "no",
                     "../../etc/passwd", "/etc/passwd", "good.yaml", "x\x1b[31my", "[red]x[/red]", "<script>", "\u202e", "L",
                     "d", "zip",
                     "%s%n{0}", "ﬀ", "é", "\ud7ff", "a" * 5000]),
    st.text(max_size=12),
)  # fmt: skip


def _nested(depth: int) -> Any:
    found: Any = 1
    for i in range(depth):
        found = [found] if i % 2 else {"range": found}
    return found


ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, WORDS, st.sampled_from(EXCLUDES), st.just([]), st.just({}),
    st.lists(st.one_of(NUMBERS, WORDS, st.none()), max_size=4), st.lists(st.lists(WORDS, max_size=2), max_size=2),
    st.dictionaries(FORMS, st.one_of(NUMBERS, st.lists(NUMBERS, max_size=4)), max_size=2),
    st.dictionaries(WORDS, NUMBERS, max_size=2), st.integers(1, 60).map(_nested),
    st.just({"range": 10**12}), st.just({"range": [0, 10**30]}), st.just({"linspace": [0, 1, 10**9]}),
    st.just({"pow2": [0, 900]}), st.just({"log10": [-400, 400, 9]}), st.just({"geomspace": [1e-300, 1e300, 7]}),
)  # fmt: skip

_FURTHER = (
    "momentum",
    "weight_decay",
    "loss",
    "depth",
    "activation",
    "bias",
    "init_scale",
    "centred",
    "beta1",
    "parametrisation",
)

KEYS = st.one_of(
    st.sampled_from(["sweep", "tasks", "defaults", "grids", "resources", "task", "L", "d", "width", "gamma", "seed", "steps",
    "eval_every",
                     "batch", "test_size", "sigma2", "prefactor", "base_lr", "dtype", "zip", "exclude", "save", "patches",
                     "patch_size",
                     "find", "axis", "metric", "at", "tolerance", "falling", "P", "network", "scaling", "kappa", "chains",
                     "blur", "layer", "gpus_per_pack", "cpus_per_pack", "pack_seconds", "widht", "Gamma", "__class__",
                     "cell_id", "<<", "networks", "metrics", "training", "trainign", "netwrok",
                     *(_FURTHER if "stacked" in ENGINES else ())]),
    st.text(max_size=6),
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, member in inner for place in _places(member, (*path, key)))]


@st.composite
def structures(draw: st.DrawFn) -> Any:
    """A valid grid, changed in up to four places."""
    grid = copy.deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 4))):
        places = [place for place in _places(grid) if place]
        if not places:
            break
        *path, last = draw(st.sampled_from(places))
        at = grid
        for key in path:
            at = at[key]
        match draw(st.sampled_from(["replace", "replace", "delete", "add", "rename", "double"])):
            case "delete" if isinstance(at, dict):
                del at[last]
            case "add" if isinstance(at, dict):
                at[draw(KEYS)] = copy.deepcopy(draw(ODD))
            case "rename" if isinstance(at, dict):
                at[draw(KEYS)] = at.pop(last)
            case "double" if isinstance(at, list):
                at.append(at[last])  # the very same: an anchor and an alias
            case _:
                at[last] = copy.deepcopy(draw(ODD))
    return grid


def dumped(grid: Any) -> bytes:
    """The grid as YAML, in UTF-8."""
    text: str = yaml.safe_dump(grid, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)
    return text.encode("utf-8", "surrogatepass")


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
SNIPPETS = (
    "!!python/object/apply:os.system ['touch pwned']", "!!python/name:os.system", "!!python/object/new:os.system [touch pwned]",
    "!!binary aGVsbG8=", "!!timestamp 2020-01-01", "!!set {a}", "!!omap [a: 1]", "!foo bar", "!!int x", "!!float 1", "!!str 1",
    "!!bool 7",
    "!!null x", "&a [*a]", "&a {b: *a}", "*nowhere", "&x", "%YAML 9.9\n---", "---\n", "...\n", "--- a\n--- b\n",
    "? [a]\n: 1\n", "? {a: 1}\n: b",
    "<<: *x", "<<: [1]", "<<: {L: 3}", "{", "}", "[", "]", ": ", "- ", "\t", "\r\n", "\r", "\x00", "\x07", "\ufeff", "\u2028",
    "\x85", "'", '"',
    "|", ">", "#", "0x", "0o9", "1_000", "1e3", ".inf", ".nan", "-.inf", "1" * 5000, "0x" + "f" * 5000, "@", "`", BOMB,
    "grids:", "L: 3\n", "sweep: ../x\n", "sweep: '<img src=x onerror=alert(1)>'\n", "tasks: [/etc/passwd]\n", "tasks: ['.']\n",
    "tasks: [good.yaml]\n", "exclude: \"__import__('os').system('touch pwned')\"\n",
)  # fmt: skip


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A changed grid whose text is changed too: snippets put in, parts cut out or doubled, other line ends, other encodings."""
    text = dumped(draw(structures())).decode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(0, 3))):
        i, j = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        match draw(st.sampled_from(["insert", "insert", "line", "cut", "double", "crlf", "tabs", "nest"])):
            case "insert":
                text = text[:i] + draw(st.sampled_from(SNIPPETS)) + text[i:]
            case "line":
                at = text.find("\n", i) + 1
                text = text[:at] + draw(st.sampled_from(SNIPPETS)) + "\n" + text[at:]
            case "cut":
                text = text[:i] + text[min(j, i + 40) :]
            case "double":
                text = text[:j] + text[i:j][:200] + text[j:]
            case "crlf":
                text = text.replace("\n", "\r\n")
            case "tabs":
                text = text.replace("  ", "\t", 3)
            case "nest":
                depth = draw(st.sampled_from([50, 200, 300, 330, 400, 480, 600, 5000]))
                left, right = draw(st.sampled_from([("[", "]"), ("{a: ", "}")]))
                text = text[:i] + left * depth + draw(st.sampled_from(["", "1"])) + right * depth + text[i:]
    data = text.encode(draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        k = draw(st.integers(0, len(data)))
        data = data[:k] + draw(st.binary(min_size=1, max_size=3)) + data[k + 1 :]
    return data


GRIDS: st.SearchStrategy[bytes] = st.one_of(structures().map(dumped), texts(), texts(), st.binary(max_size=60))
