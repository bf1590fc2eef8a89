"""Measurements of networks at equilibrium [Rubin25], beside theory that is computed for exactly their sizes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import by_point, exponent_of
from analysis.claims.networks_used import Networks, networks, note_seeds
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.keys import spoken
from analysis.scaling.proportion import in_power, width_as
from analysis.scaling.thresholds import threshold_table, thresholds
from sweepkit.stats import FEWEST_OF_LAW, Interval, linear_fit, mean_interval

from .bound import AS_ROOT, predicted_samples, specialised_neurons
from .overlaps import by_chance
from .theory.large_deviation import Size, as_scaling, slope
from .theory.parity import specialised
from .theory.three_layers import gp_sp, sp_mag

Floats = np.ndarray[Any, np.dtype[np.float64]]


@kind
def exponent_beside_bound(
    results: str,
    level: float,
    of: Mapping[str, Any],
    against: Size = "d",
    ratio: float = 1.0,
    prefer: Mapping[str, Any] | None = None,
) -> Measured | NotMeasured:
    """Exponent of P* at alignment `level`, minus the slope of the large-deviation bound over the same d and N.

    The networks are 2-layer erf networks on He_3. The exponent is in d at N = `ratio` d, or in the width at one d (`against`).
    """
    found = _learning(results, of, against, ratio, prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    curves = thresholds(by_point(found.frame), level, "P")
    fit = exponent_of(curves, level, "P", against)
    if isinstance(fit, NotMeasured):
        return fit
    reached = curves[[t.reached == "reached" for t in curves["threshold"]]]
    scaling = as_scaling(str(found.frame["scaling"].iloc[0]))
    said = slope(level, reached["width"].to_numpy(), reached["d"].to_numpy(), scaling, against)
    value, low, high = fit.interval[:3]
    interval = fit.interval._replace(value=value - said, low=low - said, high=high - said)
    at = f"{fit.n_used} {against} from {fit.law.x_low:g} to {fit.law.x_high:g} ({fit.censored})"
    exponents = f"P* ~ {against}^b, b = {value:.2f} ({low:.2f} to {high:.2f}) minus the bound's {said:.2f}"
    return Measured(interval, f"difference of exponents, {exponents}, {at}; {found.what}", found.again)


def _learning(results: str, of: Mapping[str, Any], against: Size, ratio: float, prefer: Mapping[str, Any] | None) -> Networks:
    """Networks of several P, at N = `ratio` d or of several widths."""
    found = networks(results, of, "alignment_f", ("P", "d", "width") if against == "d" else ("P", "width"), prefer)
    if against == "d" and len(found.every):
        return found.narrowed(found.every[found.every["width"] == ratio * found.every["d"]], width_as(ratio))
    return found


@kind
def threshold_beside_bound(
    results: str, level: float, of: Mapping[str, Any], ratio: float = 1.0, prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """P* at alignment `level` of 2-layer erf networks on He_3 with N = `ratio` d, over the bound's P* = kappa t/(1 - level).

    The value is the geometric mean over d. The interval reaches from the least to the greatest end of the single d's 95%
    intervals, so that what holds within it holds at every d.
    """
    found = _learning(results, of, "d", ratio, prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    curves = thresholds(by_point(found.frame), level, "P")
    table = threshold_table(curves, ["d", "width", "kappa"])
    if missing := [f"{d:g}" for d in table.loc[table["state"] != "reached", "d"]]:
        return NotMeasured(f"P* is not within the P measured at d = {', '.join(missing)}; {found.what}")
    if len(table) < FEWEST_OF_LAW:
        return NotMeasured(f"networks of fewer than {FEWEST_OF_LAW} d reach this alignment; {found.what}")
    said = predicted_samples(table, as_scaling(str(found.frame["scaling"].iloc[0])), level)
    times = table[["threshold", "low", "high"]].astype(float).div(said, axis=0)
    value = float(np.exp(np.log(times["threshold"]).mean()))
    # A d without an interval leaves all of them without one.
    low, high = float(times["low"].min(skipna=False)), float(times["high"].max(skipna=False))
    interval = Interval(value, low, high, len(times), "least to greatest end of the intervals at each d", "thresholds")
    each = ", ".join(f"{t:.2f} at d = {d:g}" for t, d in zip(times["threshold"], table["d"], strict=True))
    return Measured(interval, f"ratio, P* over kappa t/(1 - {level:g}): {each}; {found.what}", found.again)


@kind
def threshold_spread(
    results: str, level: float, of: Mapping[str, Any], unit: Mapping[str, float], prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Standard deviation over sizes of ln P*, the samples at which the alignment reaches `level`, in units of a product of powers
    of the sizes, such as {context: 0.5, d: 1.5}. 0 means that the curves of all sizes cross the level at one place of that axis.

    The thresholds' own errors enlarge it; its interval is one of the spread of the true thresholds (`spread_interval`).
    """
    found = networks(results, of, "alignment_f", ("P", *unit), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    curves = thresholds(by_point(found.frame), level, "P", declared=found.declared)
    if missing := [_sizes(row, unit) for row in curves.to_dict("records") if not row["threshold"].is_reached]:
        return NotMeasured(f"P* is not within the P measured at {'; '.join(missing)}; {found.what}")
    if len(curves) < FEWEST_OF_LAW:
        return NotMeasured(f"networks of fewer than {FEWEST_OF_LAW} sizes; {found.what}")
    if not all(len(one.draws) for one in curves["threshold"]):
        return NotMeasured(f"one seed at some P leaves no interval; {found.what}")
    note_seeds(min(one.n_seeds for one in curves["threshold"]))
    units = np.log(np.prod([curves[key].to_numpy(float) ** power for key, power in unit.items()], axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):  # a threshold beyond the range has any spread
        drawn = [np.log(one.draws) for one in curves["threshold"]]
    value, low, high = spread_interval(np.log([one.value for one in curves["threshold"]]) - units, drawn, units)
    interval = Interval(value, low, high, len(curves), "resampled", "thresholds")
    each = ", ".join(f"{row['threshold'].value:.3g} at {_sizes(row, unit)}" for row in curves.to_dict("records"))
    of_unit = " ".join(f"{spoken(key)}^{power:g}" for key, power in unit.items())
    return Measured(interval, f"spread of ln P* in units of {of_unit}: P* {each}; {found.what}", found.again)


def spread_interval(logs: Floats, drawn: Sequence[Floats], units: Floats) -> tuple[float, float, float]:
    """The standard deviation of logs (S,), in these units, and a 95% interval of that of the true logs. `drawn`: resampled logs
    of each, without the unit. They carry the errors twice: twice their variance is taken from both ends."""
    generator = np.random.default_rng(0)  # draws of all sizes come from one seed
    with np.errstate(invalid="ignore"):
        squares = np.var(np.stack([generator.permutation(one) for one in drawn], axis=1) - units, axis=1, ddof=1)
    errors = float(np.mean([np.var(one[np.isfinite(one)]) for one in drawn]))
    value = float(np.std(logs, ddof=1))
    low, high = np.quantile(np.nan_to_num(squares, nan=np.inf), [0.025, 0.975], method="inverted_cdf") - 2 * errors
    return value, min(value, float(np.sqrt(max(0.0, low)))), max(value, float(np.sqrt(max(0.0, high))))


def _sizes(row: Mapping[Hashable, Any], unit: Iterable[str]) -> str:
    return ", ".join(f"{spoken(key)} = {row[key]:g}" for key in unit)


@kind
def specialised_beside_bound(
    results: str, of: Mapping[str, Any], prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Ratio of the neurons that specialise in 2-layer erf networks on He_3 to the number that the bound asks for at the networks'
    alignment less what lazy learning supplies of it: its geometric mean over widths and seeds."""
    found = _specialised(results, of, 1, "width", prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    frame = found.frame
    by_width = frame.groupby("width")
    of_width = by_width[["value", "alignment", "d", "P", "kappa"]].mean().reset_index()
    asked = specialised_neurons(of_width, as_scaling(str(found.frame["scaling"].iloc[0])))
    of_width = of_width.assign(bound=asked).set_index("width")[by_width["value"].min() > 0].dropna(subset="bound")
    if len(of_width) < FEWEST_OF_LAW:
        return NotMeasured(f"neurons specialise in all networks of fewer than {FEWEST_OF_LAW} widths; {found.what}")
    # Networks of one seed share teacher and training set, whatever their width: only seeds are independent.
    logs = (frame["value"] / frame["width"].map(of_width["bound"])).map(np.log).groupby(frame["seed"]).mean()
    mean = mean_interval(logs)
    value, low, high = (float(np.exp(end)) for end in mean[:3])
    interval = mean._replace(value=value, low=low, high=high, method="t over seeds, of logarithms")
    return Measured(
        interval,
        f"ratio of neurons to those of the bound: {_each(of_width['value'], of_width['bound'], 'N')}; {found.what}",
        found.again,
    )


@kind
def layer_beside_energy(
    results: str, of: Mapping[str, Any], layer: int, prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Ratio of the specialised neurons of one hidden layer of 3-layer erf networks on He_3, less those of chance, to those
    of least energy if this layer alone specialises and supplies the networks' alignment: its mean over N1 and seeds.

    Layer 1 is set beside M1 of Sp.-Mag., layer 2 beside M2 of GP-Sp. Unless `of` fixes N1, several are needed.
    """
    found = _specialised(results, of, layer, "width1", prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    frame = found.frame.assign(value=found.frame["value"] - found.frame["width1" if layer == 1 else "width"].map(by_chance))
    of_width = frame.groupby("width1")[["value", "alignment", "d", "width"]].mean()
    of_width = of_width[of_width["alignment"] > 0]
    needed = FEWEST_OF_LAW if isinstance(of.get("width1"), Mapping) else 1
    if len(of_width) < needed:
        return NotMeasured(f"networks of fewer than {needed} first widths have learned something; {found.what}")
    sizes = zip(of_width["alignment"], of_width["d"], of_width.index, of_width["width"], strict=True)
    asked = [_of_least_energy(layer, float(a), int(d), int(N1), int(N2)) for a, d, N1, N2 in sizes]
    of_width = of_width.assign(asked=asked)
    frame = frame[frame["width1"].isin(of_width.index)]
    ratios = (frame["value"] / frame["width1"].map(of_width["asked"])).groupby(frame["seed"]).mean()
    return Measured(
        mean_interval(ratios),
        f"ratio of neurons to those of least energy: {_each(of_width['value'], of_width['asked'], 'N1')}; {found.what}",
        found.again,
    )


def _of_least_energy(layer: int, alignment: float, d: int, N1: int, N2: int) -> float:
    """Specialised neurons of the layer where it alone specialises."""
    return sp_mag(alignment, d, N1, N2).M1 if layer == 1 else gp_sp(alignment, d, N2).M2


def _specialised(results: str, of: Mapping[str, Any], layer: int, width: str, prefer: Mapping[str, Any] | None) -> Networks:
    """Networks with the specialised neurons of a layer (`value`) and the alignment."""
    found, aligned = (networks(results, of, m, (width,), prefer) for m in (f"n_specialised_{layer}", "alignment_f"))
    if found.frame.empty:
        return found
    alignment = aligned.every[["cell_id", "value"]].rename(columns={"value": "alignment"})
    return found._replace(every=found.every.merge(alignment, on="cell_id"))


def _each(counts: "pd.Series[float]", asked: "pd.Series[float]", name: str) -> str:
    """The neurons and what theory asks for, by width."""
    return ", ".join(f"{m:.3g} of {b:.3g} at {name} = {n:g}" for n, m, b in zip(asked.index, counts, asked, strict=True))


@kind
def magnitude_beside_one_neuron(
    results: str, of: Mapping[str, Any], prefer: Mapping[str, Any] | None = None
) -> Measured | NotMeasured:
    """Exponent in N of the magnitude of neurons that specialise on parity, minus that of one neuron's theory at the same sizes.

    Only networks whose P grows as sqrt(N) count. Most networks of a search for P lie near the threshold, where no neuron
    specialises.
    """
    found = networks(results, of, "magnitude_1", ("width", "P"), prefer)
    if found.frame.empty:
        return NotMeasured(found.what)
    found = found.narrowed(in_power(found.every, "P", AS_ROOT), "P ~ sqrt(N)")
    frame = found.frame
    sizes = frame[["d", "width", "P", "kappa"]].drop_duplicates()
    if sizes["width"].nunique() < FEWEST_OF_LAW:
        return NotMeasured(f"fewer than {FEWEST_OF_LAW} widths with P in proportion to sqrt(N); {found.what}")
    try:
        said = [specialised(*map(float, size)).magnitude for size in sizes.to_numpy()]
    except ValueError as error:
        return NotMeasured(str(error))
    slope = linear_fit(np.log(frame["width"].to_numpy(float)), np.log(frame["value"])).slope
    value, low, high = slope[:3]
    theory = linear_fit(np.log(sizes["width"].to_numpy(float)), np.log(said)).slope.value
    interval = slope._replace(value=value - theory, low=low - theory, high=high - theory)
    what = f"|mu| ~ N^b, b = {value:.3f} ({low:.3f} to {high:.3f}) minus one neuron's {theory:.3f}; {found.what}"
    return Measured(interval, what, found.again)
