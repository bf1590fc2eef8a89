"""Theory for the kernel of wide lazy erf networks on Hermite polynomials: learning curves of ridge regression, and their bias.

The bias is the error of the outputs' mean over training sets. It is what the errors would be if what is not yet learnt did not
act as noise on what is. In fewer than three dimensions inputs differ too much in length for the theory.
"""

from analysis.study import theory
from analysis.theory.ridge_curves import of_hermite

KERNEL = {"task": "hermite", "network": "erf_kernel", "training": "ridge", "d": {"at_least": 3}}
SOURCE = "[Simon21, Canatar21, Bordelon20]"


@theory("ridge regression", source=SOURCE, metric="test_mse", of=KERNEL)
def test_error(degree: int, d: int, P: float, ridge: float) -> float:
    """The error on fresh examples."""
    return of_hermite(degree, d, P, ridge).test


@theory("ridge regression", source=f"{SOURCE}, training", metric="final_train_loss", of=KERNEL)
def training_error(degree: int, d: int, P: float, ridge: float) -> float:
    """The error on the training examples."""
    return of_hermite(degree, d, P, ridge).train


@theory("ridge regression, bias", source=f"{SOURCE}, bias alone", metric="test_mse", of=KERNEL)
def bias(degree: int, d: int, P: float, ridge: float) -> float:
    """The error on fresh examples of outputs averaged over training sets."""
    return of_hermite(degree, d, P, ridge).naive
