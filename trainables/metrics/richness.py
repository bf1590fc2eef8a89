"""How rich a network is [Nam26]: `save: [richness]` asks for all metrics of the trained network, `save: [richness_curve]` for
D_LR and the effective dimension at each evaluation.

They are taken on probe sets of PROBED examples: the first ones of a fixed training set, else fresh training examples; and fresh
test examples. With n different inputs d_lr is too high by about (1 - d_lr) PR/(2n), PR as `participation` measures it.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from sweepkit.declarations.columns import Condition
from trainables.metrics.base import ANSWERS_ONCE, FEATURES, Array, Group, Probe, Requested, metric
from trainables.metrics.participation import participation
from trainables.richness import alignment, spectrum
from trainables.richness.collapse import Collapse, classes_of, collapse
from trainables.richness.spectrum import Eigenfunctions
from trainables.streams import probe_set, stream_owner
from trainables.tasks.base import Task

if TYPE_CHECKING:
    from trainables.metrics.base import Probed

_SEVERAL: Condition = (("outputs", ("several",)),)


@dataclass(frozen=True)
class _Sample:
    """Different examples of a probe set, the share of each (n,), and the network's outputs and features on them."""

    inputs: Array
    targets: Array
    share: Array
    seen: "Probed"

    @cached_property
    def features(self) -> Array | None:
        """(n, p) centred; None if there are none, or if they are constant."""
        return None if self.seen.features is None else alignment.centred(self.seen.features, self.share)

    @cached_property
    def outputs(self) -> Array | None:
        """(n, C) centred; None if they are constant."""
        return alignment.centred(self.seen.outputs, self.share)


class _Richness:
    """Probe sets of one network, and what its metrics share, each computed once. It does not hold the probe, so that it goes when
    the probe does."""

    def __init__(self, probe: Probe) -> None:
        self._owner, self._task = stream_owner(probe.cell), probe.cell.task
        self._at, self._at_start = probe.at, probe.at_start
        self.n_outputs = self._task.n_outputs

    @cached_property
    def train(self) -> _Sample:
        return self._sample(fresh=False)

    @cached_property
    def test(self) -> _Sample:
        return self._sample(fresh=True)

    def _sample(self, fresh: bool) -> _Sample:
        inputs, targets, share = _different(self._owner, self._task, fresh)
        return _Sample(inputs, targets, share, self._at(inputs))

    @cached_property
    def start(self) -> Array | None:
        """Centred features at initialisation on training examples."""
        found = self._at_start(self.train.inputs)
        return None if found is None else alignment.centred(found, self.train.share)

    @cached_property
    def functions(self) -> Eigenfunctions | None:
        features = self.train.seen.features
        return None if features is None else spectrum.eigenfunctions(features, self.train.share)

    @property
    def utilisation(self) -> Array | None:
        """Qhat(k) of the outputs on fresh examples."""
        return self._qualities.get("outputs")

    @property
    def quality(self) -> Array | None:
        """Q*(k) of the targets of fresh examples."""
        return self._qualities.get("targets")

    @cached_property
    def _qualities(self) -> dict[str, Array]:
        """Qualities of outputs and of targets that are not 0 throughout; none without eigenfunctions."""
        features, targets = self.test.seen.features, self.test.targets
        if self.functions is None or features is None:
            return {}
        if self.n_outputs > 1 and targets.ndim == 1:
            targets = np.eye(self.n_outputs)[targets]
        spanned = {name: one for name, one in (("outputs", self.test.seen.outputs), ("targets", targets)) if np.any(one)}
        if not spanned:
            return {}
        return dict(
            zip(spanned, spectrum.qualities(spectrum.on_sample(self.functions, features), *spanned.values()), strict=True)
        )

    @cached_property
    def collapse(self) -> Collapse | None:
        features, classes = self.train.seen.features, classes_of(self.train.targets)
        if self.n_outputs == 1 or features is None or classes is None:
            return None
        return collapse(features, classes, self.train.share)

    def leading(self, quality: Array | None) -> float | None:
        """Pi(k): the sum of the first C, the first two if there is one output."""
        return None if quality is None else float(quality[: max(2, self.n_outputs)].sum())


@lru_cache(maxsize=2)  # a pack's networks that differ in gamma follow each other, and have the same two
def _different(owner: str, task: Task, fresh: bool) -> tuple[Array, Array, Array]:
    """Inputs and targets of a probe set, each example once, and the share of each. They are not to be changed."""
    inputs, targets = probe_set(owner, task, fresh)
    # By their bytes: np.unique compares rows number by number, which took a quarter of the time of all metrics.
    whole = np.column_stack([inputs, targets])
    rows: list[bytes] = whole.view(f"V{whole[0].nbytes}").ravel().tolist()
    counts = Counter(rows)
    places = dict(zip(reversed(rows), reversed(range(len(rows))), strict=True))  # the first place of each
    first = np.fromiter(map(places.__getitem__, counts), int)
    return inputs[first], targets[first], np.fromiter(counts.values(), float) / len(rows)


def _pair(sample: _Sample) -> tuple[Array, Array] | None:
    features, outputs = sample.features, sample.outputs
    # As many inputs as outputs can lie in any directions.
    return None if features is None or outputs is None or len(outputs) <= outputs.shape[1] else (features, outputs)


_KNOWN: WeakKeyDictionary[Probe, _Richness] = WeakKeyDictionary()


def _of(probe: Probe) -> _Richness:
    if probe not in _KNOWN:
        _KNOWN[probe] = _Richness(probe)
    return _KNOWN[probe]


@metric("laziness D_LR of features and outputs", low=0, high=1, better="lower", at_equilibrium=True, needs=FEATURES)
def d_lr(probe: Probe) -> float | None:
    """1 - CKA of last hidden features and outputs on training examples: 0 for the richest training [Nam26 App. E.1]. None if
    either is constant."""
    pair = _pair(_of(probe).train)
    return alignment.d_lr(*pair) if pair else None


@metric("laziness D_LR on fresh examples", low=0, high=1, better="lower", at_equilibrium=True, needs=FEATURES)
def d_lr_test(probe: Probe) -> float | None:
    """`d_lr` on fresh test examples, such as symbols that training did not show."""
    pair = _pair(_of(probe).test)
    return alignment.d_lr(*pair) if pair else None


@metric("laziness D_LR of the span of several outputs", low=0, high=1, better="lower", needs=FEATURES + _SEVERAL)
def d_lr_proj(probe: Probe) -> float | None:
    """D_LR by the projection onto the outputs' `d_lr_rank` leading directions [Nam26 Eq. 4]. None for one output, where it is
    `d_lr`."""
    pair, rank = _pair(_of(probe).train), d_lr_rank.measure(probe)
    return alignment.d_lr_of_span(*pair, int(rank)) if pair and rank else None


@metric("rank of the centred targets, or of the features if lower", low=0, needs=ANSWERS_ONCE + _SEVERAL)
def d_lr_rank(probe: Probe) -> float | None:
    """Rank of the centred training targets, C - 1 for C classes, or of the centred features if that is lower, as outputs vary
    along no more directions than features do; None for one output."""
    own = _of(probe)
    if own.n_outputs == 1:
        return None
    targets, features = own.train.targets, own.train.features
    if targets.ndim == 1:
        of_targets = len(np.unique(targets)) - 1
    else:
        apart = alignment.centred(targets, own.train.share)
        of_targets = 0 if apart is None else int(np.linalg.matrix_rank(apart))
    return float(of_targets if features is None or not of_targets else alignment.rank(features, of_targets))


@metric("alignment of features with those at initialisation", low=0, high=1, needs=FEATURES)
def s_init(probe: Probe) -> float | None:
    """CKA of the features at initialisation and now, on training examples: 1 if they have not changed [Nam26]."""
    own = _of(probe)
    features = own.train.features
    return None if features is None or own.start is None else alignment.cka(own.start, features)


@metric("squared norm of all parameters", low=0, logarithmic=True, needs=ANSWERS_ONCE)
def theta_norm2(probe: Probe) -> float:
    """Sum of the squares of all parameters."""
    parameters = _of(probe).train.seen.parameters  # those of `probe` would evaluate its examples, too
    return sum(float(np.square(one, dtype=np.float64).sum()) for one in parameters.values())


@metric("effective dimension of the features' spectrum", low=1, logarithmic=True, at_equilibrium=True, needs=FEATURES)
def d_eff_rho(probe: Probe) -> float | None:
    """1 + exp(entropy of the eigenvalues rho_2, rho_3, ...) of the features' kernel on training examples [Nam26 Eq. 9]. The first
    eigenfunction is taken to be the constant: see `const_overlap`."""
    found = _of(probe).functions
    return spectrum.effective_dimension(found.rho) if found else None


@metric("effective dimension of the features that the output uses", low=1, logarithmic=True, at_equilibrium=True, needs=FEATURES)
def d_eff_util(probe: Probe) -> float | None:
    """`d_eff_rho` of the utilisation Qhat(k): the share of the outputs that the k-th eigenfunction adds, on fresh examples."""
    used = _of(probe).utilisation
    return None if used is None else spectrum.effective_dimension(used)


@metric("share of the output that the leading features hold", low=0, high=1, at_equilibrium=True, needs=FEATURES)
def pi_hat_C(probe: Probe) -> float | None:
    """Utilisation of the first C eigenfunctions for C outputs, of the first two for one, on fresh examples; 1 for the richest
    training [Nam26 Eq. 6]."""
    own = _of(probe)
    return own.leading(own.utilisation)


@metric("share of the target that the leading features hold", low=0, high=1, better="higher", at_equilibrium=True, needs=FEATURES)
def pi_target_C(probe: Probe) -> float | None:
    """Quality of the first C eigenfunctions for C outputs, of the first two for one, on fresh examples [Nam26 Eq. 5]."""
    own = _of(probe)
    return own.leading(own.quality)


@metric("overlap of the leading eigenfunction with the constant", low=0, high=1, at_equilibrium=True, needs=FEATURES)
def const_overlap(probe: Probe) -> float | None:
    """|<1|e_1>| on training examples. [Nam26] finds above 0.95, and so leaves out e_1 in effective dimensions."""
    own = _of(probe)
    features = own.train.seen.features
    return (
        None if own.functions is None or features is None else spectrum.constant_overlap(own.functions, features, own.train.share)
    )


@metric("neural collapse NC1", low=0, logarithmic=True, needs=FEATURES + _SEVERAL)
def nc1(probe: Probe) -> float | None:
    """Tr(S_W S_b^+)/C of the features of C classes, with a true pseudo-inverse [Papyan20]; None for one output."""
    found = _of(probe).collapse
    return found.nc1 if found else None


@metric("neural collapse with the regularised inverse of [Nam26]", low=0, logarithmic=True, needs=FEATURES + _SEVERAL)
def nc1_regularised(probe: Probe) -> float | None:
    """Tr(S_W (S_b + 1e-4)^-1), sums over classes, as [Nam26] computes it: mostly 1e4 Tr(S_W)."""
    found = _of(probe).collapse
    return found.nc1_regularised if found else None


@metric("variability of features within classes Tr(S_W)", low=0, logarithmic=True, needs=FEATURES + _SEVERAL)
def tr_sw(probe: Probe) -> float | None:
    """Sum over classes of the features' variance; None for one output [Nam26]."""
    found = _of(probe).collapse
    return found.tr_sw if found else None


@metric(
    "eigenvalue rho_k of the features' kernel over rho_1",
    low=0, high=1, logarithmic=True, per="eigenfunction", at_equilibrium=True, needs=FEATURES,
)  # fmt: skip
def rho(probe: Probe) -> Array | None:
    """Eigenvalues of the uncentred kernel of the features on training examples, over the largest [Nam26 Fig. 1]."""
    found = _of(probe).functions
    return found.rho / found.rho[0] if found else None


@metric(
    "quality Q*(k): share of the target that eigenfunction k adds",
    low=0,
    high=1,
    per="eigenfunction",
    at_equilibrium=True,
    needs=FEATURES,
)
def quality(probe: Probe) -> Array | None:
    """The share of the target's span that the k-th eigenfunction adds to those before it, on fresh examples [Nam26 Eq. 5]."""
    return _of(probe).quality


@metric(
    "utilisation Qhat(k): share of the output that eigenfunction k adds",
    low=0,
    high=1,
    per="eigenfunction",
    at_equilibrium=True,
    needs=FEATURES,
)
def utilisation(probe: Probe) -> Array | None:
    """`quality` of the network's own outputs in place of the target [Nam26 Eq. 6]."""
    return _of(probe).utilisation


@metric("laziness D_LR of features and outputs", low=0, high=1, better="lower", per="evaluation", needs=FEATURES)
def curve_d_lr(probe: Probe) -> float | None:
    """`d_lr` at each evaluation."""
    return d_lr.measure(probe)


@metric("effective dimension of the features' spectrum", low=1, logarithmic=True, per="evaluation", needs=FEATURES)
def curve_d_eff(probe: Probe) -> float | None:
    """`d_eff_rho` at each evaluation."""
    return d_eff_rho.measure(probe)


METRICS: tuple[Requested, ...] = (
    d_lr, d_lr_test, d_lr_proj, d_lr_rank, s_init, theta_norm2, participation, d_eff_rho, d_eff_util, pi_hat_C, pi_target_C,
    const_overlap, nc1, nc1_regularised, tr_sw, rho, quality, utilisation,
)  # fmt: skip
CURVE: tuple[Requested, ...] = (curve_d_lr, curve_d_eff)
GROUPS = (
    Group("richness", tuple(one.name for one in METRICS)),
    Group("richness_curve", tuple(one.name for one in CURVE)),
)
