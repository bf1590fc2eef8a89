"""Files with an optimiser of one's own, good ones and bad ones: by what is special about each."""

OPTIMISER = """\
from typing import Annotated, ClassVar

from pydantic import Field

from trainables.training import Minibatch


class Lion(Minibatch):
    name: ClassVar[str] = "lion"
    is_normalised: ClassVar[bool] = True
    memory: Annotated[float, Field(ge=0, lt=1)] = 0.9

    def start(self, theta, free):
        return {"mean": theta.clone().zero_()}

    def update(self, theta, gradient, state, rate, free, scheduled):
        theta.addcmul_(state["mean"].lerp_(gradient, 1 - self.memory).sign(), rate, value=-1)
"""


def _with(old: str, new: str) -> str:
    assert old in OPTIMISER
    return OPTIMISER.replace(old, new)


_NAME, _FIELD = '    name: ClassVar[str] = "lion"\n', "    memory: Annotated[float, Field(ge=0, lt=1)] = 0.9\n"
_UPDATE = '        theta.addcmul_(state["mean"].lerp_(gradient, 1 - self.memory).sign(), rate, value=-1)\n'

GOOD_OPTIMISERS = {
    "the usual one": OPTIMISER,
    "a free key": _with("is_normalised: ClassVar[bool] = True", 'free: ClassVar = ("base_lr", "memory")').replace(
        "1 - self.memory", "1 - free['memory']"
    ),
    "a schedule": _with("    def start", "    def schedule(self, update):\n        return (1.0 + update,)\n\n    def start"),
    "a subclass of the package's": OPTIMISER.replace("(Minibatch)", "(Base)").replace(
        "class Lion", "from trainables.training.adam import Adam as Base\n\n\nclass Lion"
    ),
    "a helper beside it": _with("class Lion(Minibatch)", "class Base(Minibatch):\n    pass\n\n\nclass Lion(Base)"),
}
REFUSED_OPTIMISERS = {
    "not Python": "class Lion(:\n",
    "nothing in it": "",
    "it leaves": OPTIMISER + "import sys\nsys.exit(0)\n",
    "no name": _with(_NAME, ""),
    "a name of the package": _with('"lion"', '"adam"'),
    "a name that is a number": _with('"lion"', "7"),
    "no update": OPTIMISER.split("    def update")[0],
    "an update that is no function": OPTIMISER.split("    def update")[0] + "    update: ClassVar = 7\n",
    "a start that is no function": OPTIMISER + "    start: ClassVar = 7\n",
    "another family": _with(_FIELD, _FIELD + '    family: ClassVar[str] = "sampling"\n'),
    "no training of networks": _with("Minibatch", "Training"),
    "no batches": _with("Minibatch", "Descent"),
    "a free key that it has not": _with(_FIELD, _FIELD + '    free: ClassVar = ("decay",)\n'),
    "a free key of all": _with(_FIELD, _FIELD + '    free: ClassVar = ("batch",)\n'),
    "a free key that is a text": _with(_FIELD, _FIELD + '    word: str = "a"\n    free: ClassVar = ("word",)\n'),
    "free keys that are none": _with(_FIELD, _FIELD + "    free: ClassVar = None\n"),
    "a field of a network": _with(_FIELD, _FIELD + "    width: int = 0\n"),
    "a field that is a method": _with(_FIELD, _FIELD + "    rate: float = 0.5\n"),
    "a field that is a fact": _with(_FIELD, _FIELD + '    status: str = "ok"\n'),
    "a field of another type": _with(_FIELD, _FIELD + "    momentum: str = 'a'\n"),
    "a default out of bounds": _with("= 0.9\n", "= 1.5\n"),
    "a validator that leaves": OPTIMISER + "\n    def model_post_init(self, _):\n        raise SystemExit(0)\n",
    "a check that raises": _with("    def start", "    def check(self, cell):\n        1 / 0\n\n    def start"),
}  # fmt: skip
TRIED_OPTIMISERS = {
    "it changes nothing": _with(_UPDATE, "        pass\n"),
    "it raises": _with(_UPDATE, "        raise ValueError('out of luck')\n"),
    "it raises an escape sequence": _with(_UPDATE, "        raise ValueError('\\x1b[31m')\n"),
    "it leaves": _with(_UPDATE, "        raise SystemExit(0)\n"),
    "it takes too little": _with("gradient, state, rate, free, scheduled", "gradient"),
    "a state that is none": _with('{"mean": theta.clone().zero_()}', "None"),
    "it mixes networks": _with(".sign()", ".sign().mean(0)"),
    "it looks at values": _with(_UPDATE, "        if gradient.sum() < 1e9:\n    " + _UPDATE),
    "it is random": _with(".sign()", ".sign().mul(theta.clone().uniform_())"),
    "NaN": _with(".sign()", ".sign().mul(float('nan'))"),
    "a schedule of words": _with("    def start", "    def schedule(self, update):\n        return 'fast'\n\n    def start"),
    "a rate below 0": _with("    def start", "    def rate(self, cell):\n        return -1.0\n\n    def start"),
}
