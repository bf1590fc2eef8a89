"""Files with a network of one's own, good ones and bad ones: by what is special about each."""

_HEAD = """\
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from trainables.networks import Network


"""
_CLASS = """\
class Gated(Network):
    name: ClassVar[str] = "gated"
"""
_FIELDS = """\
    width: Annotated[int, Field(ge=1)]
    gate: Annotated[Literal["linear", "relu"], Field(title="gate")] = "linear"
"""
_INIT = """\
    def init(self, rng, cell):
        d, m = cell.task.input_dim, self.width
        w, v = rng.standard_normal((2, d, m), dtype=np.float32) / np.float32(np.sqrt(d))
        return {"w": w, "v": v, "a": rng.standard_normal(m, dtype=np.float32)}
"""
_APPLY = """\
    def apply(self, parameters, x, cell):
        return self.features(parameters, x, cell) @ parameters["a"]
"""
_FEATURES = """\
    def features(self, parameters, x, cell):
        return (x @ parameters["w"]) * (x @ parameters["v"])
"""


def _network(
    head: str = _HEAD,
    cls: str = _CLASS,
    fields: str = _FIELDS,
    init: str = _INIT,
    apply: str = _APPLY,
    features: str = _FEATURES,
    more: str = "",
    end: str = "",
) -> str:
    return "\n".join([head, cls, fields, more, init, apply, features, end])


def _body(name: str, *lines: str) -> str:
    arguments = "self, rng, cell" if name == "init" else "self, parameters, x, cell"
    return f"    def {name}({arguments}):\n" + "".join(f"        {line}\n" for line in lines)


def _field(line: str) -> str:
    return _network(fields=_FIELDS + f"    {line}\n")


NETWORK = _network()
GOOD_NETWORKS = {
    "the usual one": NETWORK,
    "another name": _network(cls=_CLASS.replace('"gated"', '"Gated_2"')),
    "no features": _network(
        init=_INIT.replace('"v": v, ', ""),
        apply=_body("apply", "return (x @ parameters['w']) @ parameters['a']"),
        features="",
    ),
    "float64": _network(init=_INIT.replace("float32", "float64")),
    "a field with gamma": _network(fields=_FIELDS + "    gamma: Annotated[float, Field(gt=0)] = 1.0\n"),
    "a helper beside it": _network(
        head=_HEAD + "class Base(Network):\n    width: int\n\n\n", cls=_CLASS.replace("Network", "Base")
    ),
    "a subclass of the package's": _HEAD + "from trainables.networks import TwoLayer\n\n\nclass Twice(TwoLayer):\n"
    '    name: ClassVar[str] = "gated"\n    gate: Literal["linear", "relu"] = "linear"\n'
    + _body("apply", "return 2 * super().apply(parameters, x, cell)"),
}
REFUSED_NETWORKS = {
    "not Python": "class Gated(:\n",
    "not text": "\x00",
    "nothing in it": "",
    "nothing of use in it": "x = 1\n",
    "brackets without end": "(" * 5000,
    "deep brackets": "x = " + "(" * 300 + ")" * 300 + "\n",
    "deep arithmetic": "x = " + "-" * 20000 + "1\n",
    "a missing import": "import nowhere_to_be_found\n",
    "it raises": NETWORK + "raise ValueError('out of luck')\n",
    "it raises in many lines": NETWORK + "raise ValueError('out\\n of\\n luck')\n",
    "it raises nothing said": NETWORK + "raise ValueError\n",
    "it raises an escape sequence": NETWORK + "raise ValueError('\\x1b[31m red')\n",
    "it raises what cannot be shown": NETWORK
    + "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E\n",
    "it leaves": NETWORK + "import sys\nsys.exit(0)\n",
    "it recurses": NETWORK + "def f():\n    return f()\nf()\n",
    "it asserts": NETWORK + "assert False\n",
    "too large": NETWORK + "#" * 2**20,
    "no name": _network(cls="class Gated(Network):\n"),
    "a name that is a number": _network(cls=_CLASS.replace('"gated"', "7")),
    "a name with blanks": _network(cls=_CLASS.replace('"gated"', '"my gate"')),
    "an empty name": _network(cls=_CLASS.replace('"gated"', '""')),
    "a name with an escape sequence": _network(cls=_CLASS.replace('"gated"', '"\\x1b[31m"')),
    "a name of the package": _network(cls=_CLASS.replace('"gated"', '"relu2"')),
    "a name of a sampled one": _network(cls=_CLASS.replace('"gated"', '"erf2"')),
    "two of one name": NETWORK + "\n" + NETWORK.replace("class Gated", "class Other"),
    "no init": _network(init=""),
    "no apply": _network(apply=""),
    "no width": _network(fields=""),
    "width a text": _network(fields="    width: str\n"),
    "width a truth": _network(fields="    width: bool\n"),
    "another family": _network(more='    family: ClassVar[str] = "sampling"\n'),
    "a family unheard of": _network(more='    family: ClassVar[str] = "annealing"\n'),
    "keys in a text": _network(more='    free: ClassVar = "gate"\n'),
    "keys that are none": _network(more="    hashed_at_default: ClassVar = None\n"),
    "keys that are numbers": _network(more="    shared_across: ClassVar = (1, 2)\n"),
    "a version that is a number": _network(more="    version: ClassVar = 2\n"),
    "a field that a grid has": _field("zip: int = 0"),
    "a field of a training": _field("steps: int = 0"),
    "a field called seed": _field("seed: int = 0"),
    "a field called network": _field("network: str = ''"),
    "a field called save": _field("save: int = 0"),
    "a field of a task": _field("L: int = 3"),
    "a field that is a metric": _field("best_test_acc: float = 0"),
    "a field that is a fact": _field("status: str = 'ok'"),
    "a field that is a column of views": _field("cell_id: str = ''"),
    "a field of the task that differs in case": _network(fields=_FIELDS + "    l: int = 0\n"),
    "a title that is a number": _field("slope: Annotated[float, Field(title=7)] = 1.0"),
    "a field in capitals": _field("Cell_ID: str = ''"),
    "a field of another type": _field("gamma: str = 'rich'"),
    "two fields that differ in case": _field("Gate: int = 0"),
    "a list": _field("sizes: list[int] = []"),
    "an array": _field("start: Any = None"),
    "numbers of two types": _field("start: int | str = 0"),
    "a literal of numbers": _field("start: Literal[1, 2] = 1"),
    "a default of another type": _field("depth: int = 'deep'"),
    "a default out of bounds": _field("depth: Annotated[int, Field(ge=1)] = 0"),
    "a default that is infinite": _field("slope: float = float('inf')"),
    "a default that raises": _field("slope: float = Field(default_factory=lambda: 1 / 0)"),
    "a pattern that is none": _field("word: Annotated[str, Field(pattern='(')] = 'x'"),
    "a key that is missing": _field("slope: float"),
    "a validator that refuses": _network(
        more="    @model_validator(mode='after')\n    def _no(self):\n        raise ValueError('never')\n"
    ),
    "a validator that fails": _network(more="    @model_validator(mode='after')\n    def _no(self):\n        return {}['x']\n"),
    "a validator that returns nothing of use": _network(
        more="    @model_validator(mode='before')\n    @classmethod\n    def _no(cls, values):\n        return 7\n"
    ),
    "check refuses": _network(more="    def check(self, cell):\n        raise ValueError('not with this task')\n"),
    "check leaves": _network(more="    def check(self, cell):\n        raise SystemExit(0)\n"),
    "check fails": _network(more="    def check(self, cell):\n        return cell.nothing\n"),
    "a scale that fails": _network(more="    def scale(self, task):\n        return task.nothing\n"),
    "a scale of zero": _network(more="    def scale(self, task):\n        return 0\n"),
    "it cannot be called": _network(apply="    apply: ClassVar = 7\n"),
}
TRIED_NETWORKS = {
    "init raises": _network(init=_body("init", "raise ValueError('out of luck')")),
    "init takes nothing": _network(init="    def init(self):\n        return {}\n"),
    "init returns nothing": _network(init=_body("init", "pass")),
    "init returns an array": _network(init=_body("init", "return rng.standard_normal(3)")),
    "init returns no parameters": _network(init=_body("init", "return {}"), apply=_body("apply", "return x.sum(1)"), features=""),
    "init returns texts": _network(init=_INIT + "\n", apply=_APPLY).replace(
        '"a": rng.standard_normal(m, dtype=np.float32)', '"a": "text"'
    ),
    "init returns NaN": _network(init=_INIT.replace("np.float32(np.sqrt(d))", "np.float32('nan')")),
    "init returns infinities": _network(init=_INIT.replace("/ np.float32(np.sqrt(d))", "* np.float32('inf')")),
    "init misnames a parameter": _network(init=_INIT.replace('"a"', '"b"')),
    "init uses global randomness": _network(init=_INIT.replace("rng.standard_normal(m, dtype=np.float32)", "np.random.randn(m)")),
    "init has a generator of its own": _network(
        init=_INIT.replace("rng.standard_normal(m, dtype=np.float32)", "np.random.default_rng().normal(size=m)")
    ),
    "init draws another shape each time": _network(
        init=_INIT.replace('"a": rng', '"c": np.ones(int(np.random.randint(1, 10**6))), "a": rng')
    ),
    "apply raises": _network(apply=_body("apply", "raise ValueError('out of luck')")),
    "apply raises an escape sequence": _network(apply=_body("apply", "raise ValueError('\\x1b[31m')")),
    "apply raises what cannot be shown": _network(
        apply=_body("apply", "class E(Exception):", "    def __str__(self): raise ValueError", "raise E")
    ),
    "apply leaves": _network(apply=_body("apply", "raise SystemExit(0)")),
    "apply takes nothing": _network(apply="    def apply(self):\n        return 0\n"),
    "apply returns nothing": _network(apply=_body("apply", "pass")),
    "apply returns a number": _network(apply=_body("apply", "return 1.0")),
    "apply returns an array": _network(apply=_body("apply", "return np.zeros(len(x))")),
    "apply returns one number for all": _network(apply=_APPLY.rstrip() + ".sum()\n"),
    "apply returns a column": _network(apply=_APPLY.rstrip() + "[:, None]\n"),
    "apply returns a matrix": _network(apply=_body("apply", "return x @ parameters['w']")),
    "apply returns NaN": _network(apply=_APPLY.rstrip() + " * float('nan')\n"),
    "apply returns whole numbers": _network(apply=_APPLY.rstrip() + ".sum() .long() + x[:, 0].long()\n"),
    "apply returns constants": _network(apply=_body("apply", "return x[:, 0] * 0 + 1")),
    "apply forgets the parameters": _network(apply=_body("apply", "return x.sum(1)")),
    "apply detaches the parameters": _network(
        apply=_body("apply", "return self.features(parameters, x, cell).detach() @ parameters['a'].detach()")
    ),
    "apply multiplies shapes that do not fit": _network(apply=_body("apply", "return parameters['w'] @ x")),
    "apply depends on the data": _network(
        apply=_body(
            "apply",
            "if x.sum() > 0:",
            "    return self.features(parameters, x, cell) @ parameters['a']",
            "return x @ parameters['w'].sum(1)",
        )
    ),
    "apply asks for a number": _network(apply=_body("apply", "return x.sum(1) * parameters['a'].sum().item()")),
    "apply goes through numpy": _network(
        apply=_body(
            "apply", "import torch", "return torch.from_numpy(x.numpy() @ parameters['w'].detach().numpy()) @ parameters['a']"
        )
    ),
    "apply changes its parameters": _network(
        apply=_body("apply", "parameters['a'].zero_()", "return x @ parameters['w'] @ parameters['a']")
    ),
    "apply draws at random": _network(
        apply=_body("apply", "import torch", "return self.features(parameters, x, cell) @ parameters['a'] + torch.randn(len(x))")
    ),
    "rates that are texts": _network(more="    def rates(self, training):\n        return {'a': 'fast'}\n"),
    "rates that raise": _network(more="    def rates(self, training):\n        raise ValueError\n"),
}

EITHER_NETWORKS = {
    "init returns whole numbers": _network(init=_INIT.replace("rng.standard_normal(m, dtype=np.float32)", "np.ones(m, int)")),
    "init gives names that are numbers": _network(init=_INIT.replace('"a":', "7:"), apply=_APPLY.replace('"a"', "7")),
    "apply mixes the examples": _network(apply=_APPLY.rstrip() + " + x.mean()\n"),
    "apply forgets one parameter": _network(init=_INIT.replace('"w": w', '"unused": v, "w": w')),
    "features of another shape": _network(
        features=_body("features", "return (x @ parameters['w']).sum()"),
        apply=_body("apply", "return x @ parameters['w'] @ parameters['a']"),
    ),
    "features raise": _network(
        features=_body("features", "raise ValueError"), apply=_body("apply", "return x @ parameters['w'] @ parameters['a']")
    ),
    "rates for a parameter that is none": _network(more="    def rates(self, training):\n        return {'nothing': 2.0}\n"),
    "no gate": _field("gate_2: float = 1.0"),
    "n_parameters lies": _network(more="    def n_parameters(self, cell):\n        return 3\n"),
    "a layer that takes it all": _network(more="    def n_activations(self, cell):\n        return 10**15\n"),
    "values that change": _network(more="    model_config = {'frozen': False, 'extra': 'allow'}\n"),
}
