"""The metrics that engines measure of every network they train, the lists that a grid can save, and names of statistics that no
key may have. A metric on request is declared in its own file."""

from typing import Any

from sweepkit.declarations.columns import Condition, Metric

MOST_MODES = 4
MODES = tuple(f"curve_mode_{k}" for k in range(1, MOST_MODES + 1))
"""The metric of each mode, the strongest first."""


LISTS = ("curves", "neurons", "weights")
"""Values at each evaluation; values of each hidden neuron; pictures of hidden weights and of examples."""


_LABELLED: Condition = (("targets", ("binary", "classes")),)
_TRAINED: Condition = (("sampled", ("no",)),)
_TWO_LABELS: Condition = (("sampled", ("no",)), ("targets", ("binary",)))
_SAMPLED: Condition = (("sampled", ("yes",)),)
_WITH_NEURONS: Condition = (("sampled", ("no",)), ("neurons", ("yes",)))
_SQUARED: Condition = (("loss", ("mse",)),)
_THREE_LAYERS: Condition = (("sampled", ("yes",)), ("network", ("erf3",)))
_PICKED: Condition = (("sampled", ("no",)), ("validated", ("yes",)))
_NOT_PICKED: Condition = (("validated", ("no",)),)
_NEXT_TOKENS: Condition = (*_PICKED, ("answers", ("several",)))
_ACCURACY: dict[str, Any] = {"low": 0, "high": 1, "is_accuracy": True}

_ALL = (
    Metric("best_test_acc", "best test accuracy", better="higher", of=(_TRAINED + _LABELLED + _NOT_PICKED,),
           **_ACCURACY),
    Metric("final_test_acc", "last test accuracy", better="higher", of=(_LABELLED,), **_ACCURACY),
    Metric("final_test_auc", "probability that the last outputs rank a same above a different example (AUC)", better="higher",
           low=0, high=1, of=(_TWO_LABELS,)),
    Metric("final_test_acc_best_threshold", "last test accuracy at the threshold best for these examples", better="higher",
           of=(_TWO_LABELS,), **_ACCURACY),
    Metric("final_test_acc_same", "last test accuracy on same examples (label 1)", better="higher", of=(_TWO_LABELS,),
           **_ACCURACY),
    Metric("final_test_acc_different", "last test accuracy on different examples (label 0)", better="higher", of=(_TWO_LABELS,),
           **_ACCURACY),
    Metric("best_test_error", "test error at the best evaluation", low=0, high=1, logarithmic=True,
           expression="(1 - best_test_acc)", of=(_TRAINED + _LABELLED + _NOT_PICKED,)),
    Metric("final_train_acc", "last training accuracy", better="higher", of=(_LABELLED,), **_ACCURACY),
    Metric("final_train_loss", "last training loss", low=0, logarithmic=True,
           of=(_TRAINED, (*_SAMPLED, ("loss", ("cross_entropy",)), *_LABELLED))),
    Metric("readout_ratio", "readout ratio |mean a-| / |mean a+|", low=0, of=(_WITH_NEURONS,)),
    Metric("alignment_pos", "alignment of neurons with a > 0", low=-1, high=1, better="higher", of=(_WITH_NEURONS,)),
    Metric("alignment_neg", "alignment of neurons with a < 0", low=-1, high=1, better="lower", of=(_WITH_NEURONS,)),
    Metric("alignment_correlation", "correlation of readout and alignment over neurons", low=-1, high=1, better="higher",
           of=(_WITH_NEURONS,)),
    Metric("half_norm_ratio", "smaller over larger norm of a neuron's halves", low=0, high=1, of=(_WITH_NEURONS,)),
    Metric("activation_change", "relative activation change", low=0, logarithmic=True, better="higher", of=(_WITH_NEURONS,)),
    Metric("alignment_f", "alignment A_f of output and target", better="higher", of=(_SAMPLED,)),
    Metric("alignment_f_se", "Monte-Carlo standard error of A_f", low=0, of=(_SAMPLED,), diagnostic=True),
    Metric("test_mse", "test mean squared error", low=0, logarithmic=True, better="lower",
           of=(_SAMPLED + _SQUARED, (("targets", ("real",)),))),
    Metric("picked_test_acc", "test accuracy at the evaluation with the least validation loss", better="higher",
           of=(_PICKED + _LABELLED,), **_ACCURACY),
    Metric("picked_test_error", "test error at the evaluation with the least validation loss", low=0, high=1, logarithmic=True,
           better="lower", expression="(1 - picked_test_acc)", of=(_PICKED + _LABELLED,)),
    Metric("final_test_mse", "last test mean squared error", low=0, logarithmic=True, better="lower",
           of=((*_PICKED, ("targets", ("real",))),)),
    Metric("picked_step", "step of the evaluation with the least validation loss", low=0, of=(_PICKED,)),
    Metric("picked_val_loss", "least validation loss", low=0, logarithmic=True, of=(_PICKED,)),
    Metric("perplexity", "least validation perplexity", low=1, logarithmic=True, better="lower",
           expression="exp(picked_val_loss)", of=(_NEXT_TOKENS,)),
    Metric("train_mse", "training mean squared error", low=0, logarithmic=True, of=(_SAMPLED + _SQUARED,)),
    Metric("n_specialised_1", "specialising neurons, first layer", low=0, better="higher", of=(_SAMPLED,)),
    Metric("n_specialised_2", "specialising neurons, second layer", low=0, better="higher", of=(_THREE_LAYERS,)),
    Metric("magnitude_1", "magnitude of specialising neurons |w.w*|, first layer", low=0, logarithmic=True, better="higher",
           of=(_SAMPLED,)),
    Metric("magnitude_2", "magnitude of specialising neurons, second layer", low=0, logarithmic=True, better="higher",
           of=(_THREE_LAYERS,)),
    Metric("r_hat", "split R-hat", low=0, of=(_SAMPLED,), diagnostic=True),
    Metric("ess", "effective sample size", low=0, logarithmic=True, of=(_SAMPLED,), diagnostic=True),
    Metric("mixed", "whether the chains mixed", kind="truth", of=(_SAMPLED,), diagnostic=True),
    Metric("unmixed", "share of networks whose chains did not mix", low=0, high=1, expression="(NOT mixed)::DOUBLE",
           of=(_SAMPLED,), diagnostic=True),
    Metric("acceptance", "share of accepted trajectories", low=0, high=1, of=(_SAMPLED,), diagnostic=True),
    Metric("seconds", "training seconds, a network's share of its pack", unit="s", low=0, logarithmic=True, diagnostic=True),
    Metric("step", "step", "whole", per="evaluation", column="curve_step", low=0),
    Metric("train_loss", "training loss", per="evaluation", column="curve_train_loss", low=0, logarithmic=True),
    Metric("train_acc", "training accuracy", per="evaluation", column="curve_train_acc", **_ACCURACY),
    Metric("test_acc", "test accuracy", per="evaluation", column="curve_test_acc", **_ACCURACY),
    Metric("test_auc", "AUC on test examples", "single", per="evaluation", column="curve_test_auc", low=0, high=1),
    Metric("chain_train_mse", "training mean squared error", per="evaluation", column="curve_train_mse", low=0, logarithmic=True),
    Metric("chain_alignment_f", "alignment A_f of output and target", per="evaluation", column="curve_alignment_f"),
    Metric("eval_test_mse", "test mean squared error", per="evaluation", column="curve_test_mse", low=0, logarithmic=True),
    Metric("val_loss", "validation loss", per="evaluation", column="curve_val_loss", low=0, logarithmic=True),
    Metric("readout", "readout weight a", "single", per="neuron", column="neuron_readout"),
    Metric("alignment", "alignment of a neuron's two halves", "single", per="neuron", column="neuron_alignment", low=-1, high=1),
    Metric("overlap", "neurons by their overlap with the target's direction", per="bin", column="overlap", low=0),
)  # fmt: skip

METRICS = {metric.name: metric for metric in _ALL}
"""The metrics by name."""


STATISTICS = ("n", "mean", "median", "sd", "low", "high", "diverged")
"""Columns of a frame of points beside its keys: number of seeds, their mean, median and standard deviation, the ends of the 95%
interval, and the number of diverged networks."""
SEEDS = "seeds"
"""A further column of groups, which have no interval yet: the list of values, where they are enough for a bootstrap."""
SHOWN = ("value", "point", "theory", "threshold", "residual")
"""Columns of frames that hold theory, thresholds and residuals."""
