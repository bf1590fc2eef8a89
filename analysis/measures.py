"""What is measured of a network, as the views name it, and what values it can take."""

from typing import Any, NamedTuple

import numpy as np


class Measure(NamedTuple):
    """A column of `cells`, or an expression over its columns."""

    name: str
    title: str
    sql: str
    low: float = -np.inf
    """Least possible value; intervals end there."""
    high: float = np.inf
    logarithmic: bool = False
    """Whether a logarithmic axis suits it."""
    rises: bool | None = None
    """Whether networks that have learnt more have more of it, so that a level of it makes a threshold; None where none does."""

    def sd_of_ties(self, mean: Any, test_size: Any) -> Any:
        """Standard deviation of seeds whose values are all equal: of an accuracy that of one evaluation, for all else 0."""
        if not self.is_accuracy:
            return np.zeros_like(mean)
        return np.maximum(np.sqrt(np.clip(mean * (1 - mean), 0, None) / test_size), 1 / test_size)

    @property
    def falls(self) -> bool:
        """Whether networks that have learnt more have less of it, as of an error."""
        return self.rises is False

    @property
    def short(self) -> str:
        """In the middle of a sentence, before its value: `accuracy`, `alignment_f`."""
        return "accuracy" if self.is_accuracy else self.name

    @property
    def is_accuracy(self) -> bool:
        """Whether 1/2 is chance and 1 is perfect."""
        return self.name.endswith("_acc")


MEASURES = {
    m.name: m
    for m in (
        Measure("best_test_acc", "best test accuracy", "best_test_acc", 0, 1, rises=True),
        Measure("final_test_acc", "last test accuracy", "final_test_acc", 0, 1, rises=True),
        Measure("best_test_error", "test error at the best evaluation", "(1 - best_test_acc)", 0, 1, True),
        Measure("final_train_acc", "last training accuracy", "final_train_acc", 0, 1, rises=True),
        Measure("final_train_loss", "last training loss (nats)", "final_train_loss", 0, logarithmic=True),
        Measure("readout_ratio", "readout ratio |mean a-| / |mean a+|", "readout_ratio", 0),
        Measure("alignment_pos", "alignment of neurons with a > 0", "alignment_pos", -1, 1, rises=True),
        Measure("alignment_neg", "alignment of neurons with a < 0", "alignment_neg", -1, 1, rises=False),
        Measure("activation_change", "relative activation change", "activation_change", 0, logarithmic=True, rises=True),
        Measure("alignment_f", "alignment A_f of output and target", "alignment_f", rises=True),
        Measure("test_mse", "test mean squared error", "test_mse", 0, logarithmic=True, rises=False),
        Measure("train_mse", "training mean squared error", "train_mse", 0, logarithmic=True),
        Measure("n_specialised_1", "specialising neurons, first layer", "n_specialised_1", 0, rises=True),
        Measure("n_specialised_2", "specialising neurons, second layer", "n_specialised_2", 0, rises=True),
        Measure(
            "magnitude_1", "magnitude of specialising neurons |w.w*|, first layer", "magnitude_1", 0, logarithmic=True, rises=True
        ),
        Measure("magnitude_2", "magnitude of specialising neurons, second layer", "magnitude_2", 0, logarithmic=True, rises=True),
        Measure("r_hat", "split R-hat", "r_hat", 0),
        Measure("unmixed", "share of networks whose chains did not mix", "(NOT mixed)::DOUBLE", 0, 1),
        Measure("ess", "effective sample size", "ess", 0, logarithmic=True),
        Measure("seconds", "training seconds, a network's share of its pack", "seconds", 0, logarithmic=True),
    )
}
"""By name."""
