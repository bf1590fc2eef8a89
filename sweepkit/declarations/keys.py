"""The keys that several parts share, or that stores of every version hold, and those that a row may leave out. A part declares
its own keys with its fields."""

from typing import Any, Literal, get_args

from sweepkit.declarations.columns import Key

FULL_BATCH = 0
"""The value of `batch` for the whole training set in each step."""
WORDS: dict[str, dict[Any, str]] = {"batch": {FULL_BATCH: "full"}}
"""Values that a grid writes as a word, and that captions and tables show so: by key and value."""
_LENGTH = {"part": "training", "searched": False}

KEYS = {
    key.name: key
    for key in (
        Key("task", "task", "text"),
        Key("L", "training symbols L", "whole", in_streams=True, titles=(
            ("psvrt", "training patterns L"), ("pentomino", "training shapes L"), ("cifar100", "training classes L"))),
        Key("d", "input dimension d", "whole", in_streams=True),
        Key("width", "width m", "whole", "network", in_streams=True),
        Key("width1", "width N1 of the first layer", "whole", "network"),
        Key("gamma", "richness gamma", "number", "network"),
        Key("gamma_label", "gamma", "text", "network", derived=True),
        Key("sigma2", "noise sigma2", "number"),
        Key("prefactor", "prefactor", "text", "network"),
        Key("initial", "law of initial weights", "text", "network"),
        Key("P", "training examples P", "whole", in_streams=True),
        Key("patch", "patch", "whole", in_streams=True, searched=False),
        Key("patches", "patches a side", "whole", in_streams=True),
        Key("patch_size", "pixels a side of a patch", "whole", in_streams=True),
        Key("blur", "blur of training images", "number", in_streams=True),
        Key("layer", "layer of VGG-16", "text", in_streams=True),
        Key("network", "network", "text", "network"),
        Key("training", "training", "text", "training"),
        Key("scaling", "scaling", "text", "training"),
        Key("kappa", "ridge kappa", "number", "training"),
        Key("loss", "loss", "text", "training"),
        Key("chains", "chains", "whole", **_LENGTH),  # type: ignore[arg-type]
        Key("data_seed", "seed of the data", "whole", in_streams=True, searched=False),
        Key("seed", "seed", "whole", "seed", in_streams=True, searched=False),
        Key("steps", "steps", "whole", **_LENGTH),  # type: ignore[arg-type]
        Key("batch", "batch", "whole", "training"),
        Key("eval_every", "steps between evaluations", "whole", **_LENGTH),  # type: ignore[arg-type]
        Key("test_size", "test examples", "whole", **_LENGTH),  # type: ignore[arg-type]
        Key("base_lr", "base learning rate alpha_0", "number", "training"),
        Key("dtype", "precision", "text", "training"),
    )
}  # fmt: skip
"""The keys by name, in the order in which tables and captions show them."""


LEFT_OUT = ("network", "prefactor", "initial", "loss")
"""Keys that a row holds only if they differ from the default of its task; a network other than the first is always named."""
Loss = Literal["cross_entropy", "mse"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
"""The losses. Rows of a task whose default is one of them name only the other."""
FIRST_NETWORK, FIRST_TRAINING, FIRST_SAMPLER = "relu2", "sgd", "langevin"
"""The network and the training of rows that name none. Rows of older versions that have a ridge kappa were sampled."""
