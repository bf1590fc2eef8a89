"""Files with a metric or a task of one's own, good ones and bad ones: by what is special about each."""

_METRIC_HEAD = "import numpy as np\n\nfrom trainables.metrics import Probe, metric\n\n\n"
_DECLARED = "@metric(title='share of inactive neurons', low=0, high=1)\n"
METRIC = (
    _METRIC_HEAD + _DECLARED + "def sparsity(probe: Probe) -> float | None:\n"
    "    return None if probe.features is None else float((probe.features == 0).mean())\n"
)


def _metric(declared: str = _DECLARED, name: str = "sparsity", body: str = "return 0.5", end: str = "") -> str:
    return f"{_METRIC_HEAD}{declared}def {name}(probe):\n    {body}\n{end}"


GOOD_METRICS = {
    "the usual one": METRIC,
    "undefined": _metric(body="return None"),
    "NaN, which is undefined": _metric(body="return float('nan')"),
    "a number of numpy": _metric(body="return np.float32(0.5)"),
    "without bounds": _metric("@metric('x')\n", body="return float(len(probe.outputs))"),
}
REFUSED_METRICS = {
    "not Python": "def\n",
    "nothing in it": "",
    "a function that is not declared": "def sparsity(probe):\n    return 1.0\n",
    "no title": _metric("@metric()\n"),
    "declared without words": _metric("@metric\n"),
    "an empty title": _metric("@metric(title='')\n"),
    "a title that is a number": _metric("@metric(title=7)\n"),
    "a title that is a list": _metric("@metric(title=['x'])\n"),
    "a unit that is a number": _metric("@metric(title='x', unit=7)\n"),
    "logarithmic in words": _metric("@metric(title='x', logarithmic='yes')\n"),
    "bounds the wrong way": _metric("@metric(title='x', low=1, high=0)\n"),
    "bounds that are texts": _metric("@metric(title='x', low='0')\n"),
    "bounds that are NaN": _metric("@metric(title='x', low=float('nan'))\n"),
    "bounds that are truths": _metric("@metric(title='x', low=False, high=True)\n"),
    "better in words of one's own": _metric("@metric(title='x', better='more')\n"),
    "an unknown word": _metric("@metric(title='x', colour='red')\n"),
    "a name of the package": _metric(name="best_test_acc"),
    "a name of a key": _metric(name="width"),
    "a name of a column": _metric(name="cell_id"),
    "a name of a column in capitals": _metric(name="STATUS"),
    "a name of what is saved": _metric(name="curves"),
    "a name of a statistic": _metric(name="mean"),
    "a name of letters that columns lack": _metric(name="sparsité"),
    "a function without a name": _METRIC_HEAD + "sparsity = metric(title='x')(lambda probe: 1.0)\n",
    "a partial function": _METRIC_HEAD + "from functools import partial\n\nsparsity = metric(title='x')(partial(max, 1))\n",
    "a text": _METRIC_HEAD + "sparsity = metric(title='x')('sparsity')\n",
    "two of one name": METRIC + "\n\nfirst = sparsity\n\n\n" + _DECLARED + "def sparsity(probe):\n    return 1.0\n",
    "two that differ in case": METRIC + "\n\n" + _DECLARED + "def Sparsity(probe):\n    return 1.0\n",
    "it raises": METRIC + "1 / 0\n",
    "too large": METRIC + "#" * 2**20,
}
TRIED_METRICS = {
    "it returns a text": _metric(body="return 'half'"),
    "it returns a list": _metric(body="return [0.5]"),
    "it returns an array": _metric(body="return np.zeros(3)"),
    "it returns a complex number": _metric(body="return 1j"),
    "it raises": _metric(body="raise ValueError('out of luck')"),
    "it raises an escape sequence": _metric(body="raise ValueError('\\x1b[31m')"),
    "it leaves": _metric(body="raise SystemExit(0)"),
    "it takes nothing": _METRIC_HEAD + _DECLARED + "def sparsity():\n    return 1.0\n",
    "it asks for a parameter that is none": _metric(body="return float(probe.parameters['nothing'].mean())"),
    "it asks for what a probe lacks": _metric(body="return probe.gradient"),
}

TASK = """\
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from trainables.tasks import Task


class Majority(Task):
    name: ClassVar[str] = "majority"
    defaults: ClassVar = {"base_lr": 0.1, "prefactor": "none"}

    bits: Annotated[int, Field(ge=1)]

    @property
    def input_dim(self):
        return self.bits

    def draw_symbols(self, rng):
        return rng.choice(self.bits, size=1)

    def train_examples(self, rng, symbols, n):
        x = rng.integers(0, 2, (n, self.bits)).astype(np.float32) * 2 - 1
        return x, x[:, symbols[0]] > 0

    def test_examples(self, rng, symbols, n):
        return self.train_examples(rng, symbols, n)
"""
_DEFAULTS = '{"base_lr": 0.1, "prefactor": "none"}'


def _task(old: str, new: str) -> str:
    assert old in TASK
    return TASK.replace(old, new)


_RETURNED = "return x, x[:, symbols[0]] > 0"
GOOD_TASKS = {
    "the usual one": TASK,
    "labels 0 and 1": _task(_RETURNED, _RETURNED.replace("> 0", "> 0).astype(np.float32)").replace("x, x[", "x, (x[")),
}
SAMPLES_BY_DEFAULT = _task(_DEFAULTS, '{"base_lr": 0.1, "training": "langevin"}')
REFUSED_TASKS = {
    "no default training": _task(_DEFAULTS, '{"base_lr": 0.1, "training": None}'),
    "a default training that samples": SAMPLES_BY_DEFAULT,
    "a validator that leaves": _task(
        "    @property", "    def model_post_init(self, _):\n        raise SystemExit(0)\n\n    @property"
    ),
    "no learning rate": _task(_DEFAULTS, "{}"),
    "a learning rate that is a text": _task(_DEFAULTS, '{"base_lr": "fast"}'),
    "defaults that are a list": _task(_DEFAULTS, "[]"),
    "defaults that are a number": _task(_DEFAULTS, "7"),
    "a default training unheard of": _task(_DEFAULTS, '{"base_lr": 0.1, "training": "adamm"}'),
    "a default training that is a list": _task(_DEFAULTS, '{"base_lr": 0.1, "training": []}'),
    "a default network unheard of": _task(_DEFAULTS, '{"base_lr": 0.1, "network": "mlpp"}'),
    "a default network that is a list": _task(_DEFAULTS, '{"base_lr": 0.1, "network": []}'),
    "a default network that it cannot train": _task(_DEFAULTS, '{"base_lr": 0.1, "network": "erf2"}'),
    "a default of another type": _task(_DEFAULTS, '{"base_lr": 0.1, "dtype": "float16"}'),
    "keys in a text": _task("    bits:", "    locations: ClassVar = 'bits'\n    bits:"),
    "keys that are none": _task("    bits:", "    also_hashed: ClassVar = None\n    bits:"),
    "no examples": _task("    def test_examples", "    def tested"),
    "a field of a network": _task("    bits:", "    width: int = 3\n    bits:"),
    "a field of a training": _task("    bits:", "    steps: int = 3\n    bits:"),
}
TRIED_TASKS = {
    "labels -1 and 1": _task(_RETURNED, _RETURNED.replace(" > 0", "")),
    "labels NaN": _task(_RETURNED, _RETURNED.replace(" > 0", " * np.nan")),
    "labels in a column": _task(_RETURNED, _RETURNED.replace("> 0", "[:, None] > 0").replace("x, x", "x, x")),
    "too few labels": _task(_RETURNED, "return x, x[1:, 0] > 0"),
    "labels that are texts": _task(_RETURNED, "return x, np.array(['yes'] * n)"),
    "inputs NaN": _task(_RETURNED, "return x * np.nan, x[:, 0] > 0"),
    "inputs of another length": _task(_RETURNED, "return x[:, 1:], x[:, 0] > 0"),
    "inputs alone": _task(_RETURNED, "return x"),
    "nothing": _task(_RETURNED, "return None"),
    "it raises": _task(_RETURNED, "raise ValueError('out of luck')"),
    "global randomness": _task("rng.integers", "np.random.randint"),
    "symbols from global randomness": _task("rng.choice", "np.random.choice"),
    "a dimension that is a text": _task("return self.bits", "return 'many'"),
    "a dimension below 1": _task("return self.bits", "return 0"),
    "a dimension that raises": _task("return self.bits", "raise ValueError('out of luck')"),
    "targets unheard of": _task("    bits:", "    targets: ClassVar = 'colours'\n    bits:"),
    "inputs unheard of": _task("    bits:", "    inputs: ClassVar = 'smells'\n    bits:"),
}

EITHER_METRICS = {
    "it returns a number out of bounds": _metric(body="return 7.0"),
    "it draws at random": _metric(body="return float(np.random.random())"),
}
