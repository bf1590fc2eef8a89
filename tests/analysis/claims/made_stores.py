"""Stores of synthetic networks from a claim's own grid, on which the claim's measurement has a chosen value.

Keys are those of the grid's planned cells; metrics follow the law whose number the claim's kind of measurement reads off.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sweepkit.studies.deep_linear.mode_times import predicted, time_per_step
from sweepkit.studies.fluctuations.theory import of_hermite
from sweepkit.studies.rubin25.bound import predicted_samples, specialised_neurons
from sweepkit.studies.rubin25.overlaps import by_chance
from sweepkit.studies.rubin25.theory import large_deviation, parity
from sweepkit.studies.rubin25.theory.three_layers import gp_sp, sp_mag
from sweepkit.studies.tong25.theory import rich

from analysis.claims.entries import Claim
from analysis.data.networks.evaluations import HALFWAY, STEP
from analysis.overlays.overlays import beside
from analysis.scaling.proportion import in_power
from orchestrator.grid.load import load_grid
from orchestrator.grid.planned import PlannedCell
from orchestrator.running.worker import Provenance, common_columns, declared_of
from sweepkit.declarations.metrics import METRICS
from sweepkit.shipped import grid_file
from sweepkit.stats import FEWEST_OF_LAW
from sweepkit.store.store import Store
from trainables.metrics import requested_metric, requested_names

ROOT = Path(__file__).parents[3]
MEASURES = METRICS | {name: requested_metric(name).metric for name in requested_names()}
SEEDS = 6
"""Seeds of a made point: the fewest that a verdict takes."""
NOISE = 1e-3
"""Standard deviation over seeds, relative to 1 or to the value: far less than any tolerance."""
IN_FILES: dict[str, tuple[str, Callable[[Any], Any]]] = {"perplexity": ("picked_val_loss", np.log)}
"""Columns of files from which a metric is worked out, and their values by the metric's."""
MOST_VALUES = 12
"""Values of an axis that a made store has; searches plan hundreds."""


OWN_SEEDS = (
    "spread_exponent", "spread_ratio", "spread_beside_lazy", "shift_exponent", "onset_exponent", "onset_ratio",
)  # fmt: skip
"""Kinds of measurement that compare the seeds of a data set, as their grids pair them."""


@cache
def _planned(grid: str, own_seeds: bool = False) -> tuple[dict[str, PlannedCell], pd.DataFrame]:
    """The grid's cells by id, and their keys: one row each; with SEEDS seeds, or its own."""
    cells = load_grid(grid_file(grid), [] if own_seeds else [f"seed=range({SEEDS})"]).cells
    origin = Provenance("", "made")
    return {p.cell_id: p for p in cells}, pd.DataFrame([common_columns(p, "made", origin) for p in cells])


def sides(claim: Claim) -> dict[str, Mapping[str, Any]]:
    """The conditions of the claim's networks: `of`, with `a` and with `b` if it compares two; and `minus` or `over`."""
    given = claim.measure
    pair = {side: {**given["of"], **given[side]} for side in ("a", "b") if side in given}
    found = pair or {"of": given["of"]}
    return found | {
        side: given[side] for side in ("minus", "over", "infinite", "over_infinite") if isinstance(given.get(side), Mapping)
    }


def networks(claim: Claim, side: str) -> pd.DataFrame:
    """The keys of the grid's cells that fit one side of the claim."""
    assert claim.grid is not None
    frame = _planned(claim.grid, claim.measure["kind"] in OWN_SEEDS)[1]
    for key, value in sides(claim)[side].items():
        column = frame[key] if key in frame else pd.Series(np.nan, frame.index)
        if isinstance(value, Mapping):
            frame = frame[column.between(value.get("at_least", -np.inf), value.get("at_most", np.inf))]
        else:
            frame = frame[column.isin(value if isinstance(value, list) else [value])]
    return frame


def values(claim: Claim) -> list[tuple[float, str]]:
    """A value that agrees with the claim and one beyond each end of what it allows, with the verdicts.

    AssertionError if no network could have a value that agrees, or none that contradicts.
    """
    low, high = claim.expected.region
    bound = low if np.isfinite(low) else high
    step = (high - low) / 2 if np.isfinite([low, high]).all() else abs(bound) / 2 or 0.05
    # The spacing of the values tried, which is a factor, counts as an error of a peak; at their end a peak is not measured.
    above = 2 * step if claim.measure["kind"] == "peak_ratio" else step
    least, most = _possible(claim)
    # The values inside end two steps from a single bound, and at what networks can have.
    inside = max(low, least, bound - 2 * step), min(high, most, bound + 2 * step)
    outside = [value for value in (low - step, high + above) if np.isfinite(value) and least <= value <= most]
    assert inside[0] < inside[1], f"{claim.id}: no network can agree with it"
    assert outside, f"{claim.id}: no network can contradict it"
    agrees = "identity" if claim.identity else "confirmed"
    beyond = "not reproduced" if claim.other_setting else "contradicted"
    return [(sum(inside) / 2, agrees), *((value, beyond) for value in outside)]


def _possible(claim: Claim) -> tuple[float, float]:
    """The ends of what can be measured: a mean is bounded by its metric, its distance from a theory by the theory too."""
    kind = claim.measure["kind"]
    if kind in ("max_margin_halves", "markov_cosine"):
        return -1.0, 1.0
    if kind == "larger_readouts":
        return 0.0, 1.0
    if kind == "threshold_beside_bound":
        return np.finfo(float).tiny, np.inf  # P* is no less than 1
    if claim.measure.get("farthest"):
        return 1.0, np.inf
    if kind == "threshold_spread":
        return 0.0, np.inf
    if kind == "threshold_exponent" and "minus" not in claim.measure:
        return -_steepest(claim), _steepest(claim)
    if kind == "markov_norms" or claim.measure.get("quantity") == "likeness":
        return 0.0, 1.0
    if kind not in ("mean", "beside_theory", "at_first") or "since" in claim.measure:
        return -np.inf, np.inf
    metric = MEASURES[claim.measure["measure"]]
    said = _with_theory(claim)["said"] if kind == "beside_theory" else pd.Series([0.0])
    low, high = (np.nan if end is None else end for end in (metric.low, metric.high))
    return float(np.nan_to_num(low - said.min(), nan=-np.inf)), float(np.nan_to_num(high - said.max(), nan=np.inf))


def _steepest(claim: Claim) -> float:
    """The largest exponent with which thresholds at three sizes lie within the grid's range, as `_thresholds` makes them."""
    frame = _in_powers(networks(claim, "of"), claim)
    x, sizes = frame[claim.measure.get("over", "L")], np.sort(frame[claim.measure.get("against", "d")].unique())
    away = np.sort(np.abs(np.log(sizes / np.sqrt(sizes[0] * sizes[-1]))))
    return float(np.log(x.max() / x[x > 0].min()) / 2 / away[FEWEST_OF_LAW - 1])


def made_store(claim: Claim, value: float, folder: Path) -> str:
    """A store in which the claim's measurement has this value, up to a little noise; returns its directory."""
    assert claim.grid is not None
    cells = _planned(claim.grid, claim.measure["kind"] in OWN_SEEDS)[0]
    made = GENERATORS[claim.measure["kind"]](claim, value)
    members = [cells[cell_id] for cell_id in made["cell_id"]]
    rows = [{key: v for key, v in row.items() if not _absent(v)} for row in made.to_dict("records")]
    sampled = [{"mixed": True} if planned.cell.training.name != "sgd" else {} for planned in members]
    store = Store(str(folder))
    store.prepare()
    for row in rows:
        if "pictures" in row:
            row["weights_file"] = store.write_weights(row["cell_id"], row.pop("pictures"))
    store.commit("made", [{"status": "ok", **row, **more} for row, more in zip(rows, sampled, strict=True)], declared_of(members))
    return store.results


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


# One generator for each kind of measurement: the networks, with the metric that has `value` as that kind measures it.


def _mean(claim: Claim, value: float) -> pd.DataFrame:
    return _with(claim, networks(claim, "of"), lambda frame: np.full(len(frame), value))


def _slope(claim: Claim, value: float) -> pd.DataFrame:
    """Along `over`: a line in log2 around the middle of the metric, or a power law. The networks to subtract have slope 0."""
    over, log = claim.measure["over"], claim.measure.get("log", False)

    def law(slope: float) -> Callable[[pd.DataFrame], Any]:
        def of(frame: pd.DataFrame) -> Any:
            x = frame[over].to_numpy(float) / np.sqrt(frame[over].min() * frame[over].max())
            return x**slope if log else 0.6 + slope * np.log2(x)

        return of

    parts = [_with(claim, networks(claim, "of"), law(value))]
    return pd.concat([*parts, _with(claim, networks(claim, "minus"), law(0))] if "minus" in sides(claim) else parts)


def _optimum_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Parabolas in the logarithm of `over`, least where the law says, in the middle of all values for the middle size; or errors
    that are infinite above it."""
    frame, over, against = networks(claim, "of"), claim.measure.get("over", "base_lr"), claim.measure.get("against", "width")

    def law(of: pd.DataFrame) -> Any:
        x, size = (np.log(of[key].to_numpy(float)) for key in (over, against))
        off = x - (x.min() + x.max()) / 2 - value * (size - (size.min() + size.max()) / 2)
        if claim.measure.get("which") == "largest stable":
            return np.where(off > 0.01, np.inf, 0.1)  # apart from rounding, as the middle is a value tried
        return 0.1 + (off.max() ** 2 - off**2 if claim.measure.get("which") == "worst" else off**2)

    made, metric = _with(claim, frame, law), _metric(claim)
    diverged = np.isinf(made[metric])
    return made.assign(status=np.where(diverged, "diverged", "ok"), **{metric: made[metric].mask(diverged)})


def _peak_ratio(claim: Claim, value: float) -> pd.DataFrame:
    """Parabolas in the logarithm of `over`, largest at `value` times the power of `against`."""
    over, against, power = (claim.measure[name] for name in ("over", "against", "power"))

    def law(of: pd.DataFrame) -> Any:
        away = np.log(of[over].to_numpy(float) / (value * of[against].to_numpy(float) ** power)) ** 2
        return 0.1 + away.max() - away

    return _with(claim, networks(claim, "of"), law)


def _difference(claim: Claim, value: float) -> pd.DataFrame:
    middle = 0.7 + max(MEASURES[_metric(claim)].low, 0)
    middle += abs(value) / 2 if np.isinf(MEASURES[_metric(claim)].high) else 0  # both are above the least value
    at = {"a": middle + value / 2, "b": middle - value / 2}
    return pd.concat(_with(claim, networks(claim, side), lambda f, s=side: np.full(len(f), at[s])) for side in at)


def _turn(claim: Claim, value: float) -> pd.DataFrame:
    """Up by 0.2 from the first of three values to the second, then by whatever gives the product."""
    frame, over = networks(claim, "of"), claim.measure["over"]
    levels = dict(zip(sorted(frame[over].unique()), (0.4, 0.6, 0.6 + value / 0.2), strict=True))
    return _with(claim, frame, lambda f: f[over].map(levels))


def _difference_of_measures(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of").assign(**{claim.measure["minus_measure"]: 0.3})
    return _with(claim, frame, lambda f: np.full(len(f), 0.3 + value))


def _at_first(claim: Claim, value: float) -> pd.DataFrame:
    """Curves of four evaluations: from the third on `when` holds and the metric has the value, above that of the first ones if
    it is measured since one of these."""
    frame, given = networks(claim, "of"), claim.measure
    metric, first = MEASURES[given["measure"]], 0.4 if "since" in given else 0.9
    last = value + NOISE * min(abs(value), 0.1) * _noise(frame) + (first if "since" in given else 0)
    curves = {_column(given["measure"]): [[first, first, x, x] for x in np.clip(last, metric.low, metric.high)]}
    early, late = given.get("since", {}), given["when"]
    for name in {*early, *late} - {STEP}:
        before = _fits(early[name]) if name in early else _beyond(late[name])
        after = _fits(late[name]) if name in late else before
        curves[_column(name)] = [[before, before, after, after]] * len(frame)
    bound = late.get(STEP, {}).get("at_least")
    thirds = [(int(bound or steps // 2), steps) for steps in frame["steps"].astype(int)]
    steps = [[1, min(steps // 10, third - 1), third, steps] for third, steps in thirds]
    return frame.assign(curve_step=steps, **curves)


def _curve_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Curves that are a power of the step."""
    frame, given = networks(claim, "of"), claim.measure
    steps = np.unique(np.geomspace(given["first"], given["last"], 20).round().astype(int))
    curves = [list(0.1 * (steps / steps[-1]) ** slope) for slope in value + NOISE * _noise(frame)]
    return frame.assign(curve_step=[list(steps)] * len(frame), **{_column(given["measure"]): curves})


def _time_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Curves that reach the level at a power of `over`."""
    frame, over = networks(claim, "of"), claim.measure["over"]
    middle = np.sqrt(frame[over].min() * frame[over].max())
    return _reaching(claim, frame, 1e4 * (frame[over] / middle) ** value)


def _time_beside_modes(claim: Claim, value: float) -> pd.DataFrame:
    """Curves that reach the level at the theory's time, times a factor."""
    frame, given = networks(claim, "of"), claim.measure
    keys = frame.to_dict("records")
    steps = [float(predicted(one, given["measure"], given["reaches"])) / time_per_step(one) for one in keys]
    return _reaching(claim, frame, value * np.asarray(steps))


def _reaching(claim: Claim, frame: pd.DataFrame, steps: Any) -> pd.DataFrame:
    level, at = claim.measure["reaches"], np.round(steps * (1 + NOISE * _noise(frame))).astype(int)
    curves = {_column(claim.measure["measure"]): [[0.0, level, 1.0]] * len(frame)}
    return frame.assign(curve_step=[[1, step, 10**8] for step in at], **curves)


def _envelope_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Errors A (C/C_0)^value (1 + (log(N/N*))^2) of the best size N* ~ (C/C_0)^1/3, or N* ~ C^value: least at N* for each C."""
    frame, given = networks(claim, "of"), claim.measure
    sizes = frame[given["over"]].to_numpy(float)
    middle, C0 = np.sqrt(sizes.min() * sizes.max()), np.sqrt(given["first"] * given["last"])
    errors, sizing = (-0.5, value) if given.get("of_size") else (value, 1 / 3)
    steps = np.unique(np.geomspace(1, given["last"] / sizes.min(), 400).round().astype(int))
    curves = []
    for size, noise in zip(sizes, _noise(frame), strict=True):
        along = steps * size / C0
        curves.append(list(0.1 * along ** (errors + NOISE * noise) * np.exp(np.log(size / middle / along**sizing) ** 2)))
    return frame.assign(curve_step=[list(steps)] * len(frame), **{_column(given["measure"]): curves})


def _steps_ratio(claim: Claim, value: float) -> pd.DataFrame:
    """Curves in which what is bounded steps once to where its bounds hold."""
    frame = networks(claim, "of")
    return _stepping(claim, frame, {"when": 1000 * np.sqrt(value), "before": 1000 / np.sqrt(value)})


def _steps_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Curves that step at a power of the key `over`."""
    frame, given = networks(claim, "of"), claim.measure
    for key, power in given.get("growing", {}).items():
        frame = in_power(frame, key, {given["over"]: power})
    key = frame[given["over"]].to_numpy(float)
    power = (key / np.sqrt(key.min() * key.max())) ** value
    return _stepping(claim, frame, {"when": 3000 * power} | ({"before": 300.0} if "before" in given else {}))


def _stepping(claim: Claim, frame: pd.DataFrame, at: Mapping[str, Any]) -> pd.DataFrame:
    """Curves in which the bounds of each event hold from its step on, a number or one for each network."""
    steps = {event: np.round(step * np.exp(3 * NOISE * _noise(frame))).astype(int) for event, step in at.items()}
    # Evaluations just before, as an event is known to no more than their distance.
    every = [[1, *sorted({*both, *(step - 1 for step in both)}), 100_000] for both in zip(*steps.values(), strict=True)]

    def curve(ends: Mapping[str, Any], along: list[int], own: int) -> list[float]:
        return [_fits(ends) if step >= own else _beyond(ends) for step in along]

    curves = {
        _column(name): [curve(ends, along, own) for along, own in zip(every, steps[event], strict=True)]
        for event in at
        for name, ends in claim.measure[event].items()
    }
    return frame.assign(curve_step=every, **curves)


def _samples_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Curves that step to where the bounds hold, once the samples are a power of the size."""
    frame, given = networks(claim, "of"), claim.measure
    sizes = frame[given.get("against", "d")].to_numpy(float)
    samples = 1e6 * (sizes / sizes.min()) ** value * (1 + NOISE * _noise(frame))
    steps = np.round(samples / frame["batch"].to_numpy(float)).astype(int)
    curves = {_column(name): [[_beyond(ends), _beyond(ends), _fits(ends)]] * len(frame) for name, ends in given["when"].items()}
    return frame.assign(curve_step=[[1, int(step) - 1, int(step)] for step in steps], **curves)


def _column(name: str) -> str:
    """The name by which a row holds a metric along training."""
    return MEASURES[name].column or name


def _fits(ends: Mapping[str, Any]) -> float:
    """A value of a metric within these bounds."""
    (end, bound), *_ = ends.items()
    if bound == HALFWAY:
        return 0.2 if end == "at_most" else 0.8
    return float(bound)


def _beyond(ends: Mapping[str, Any]) -> float:
    """A value of a metric beyond these bounds; of HALFWAY, far on the other side of it than `_fits`."""
    (end, bound), *_ = ends.items()
    if bound == HALFWAY:
        return 0.8 if end == "at_most" else 0.2
    return float(bound) + (0.05 if end == "at_most" else -0.05)


def _largest_difference(claim: Claim, value: float) -> pd.DataFrame:
    """One group has the value, all others less."""
    frames = {side: networks(claim, side) for side in ("a", "b")}
    among = claim.measure["among"]
    best = frames["a"][among].iloc[0]

    def of(frame: pd.DataFrame, side: str) -> Any:
        size = np.where((frame[among] == best).all(axis=1), value, value - 0.05) / 2
        return 0.7 + (size if side == "a" else -size)

    return pd.concat(_with(claim, frame, lambda f, s=side: of(f, s)) for side, frame in frames.items())


def _with_theory(claim: Claim) -> pd.DataFrame:
    """The networks with the theory's value, `said`; at the two smallest values of `largest`, as others may take minutes."""
    frame = networks(claim, "of")
    if largest := claim.measure.get("largest"):
        frame = frame[frame[largest] <= sorted(frame[largest].unique())[1]]
    values = beside(frame, claim.measure["measure"], only=[claim.measure["theory"]]).values
    return frame.assign(said=values.set_index("point")["value"].reindex(frame.index))


def _beside_theory(claim: Claim, value: float) -> pd.DataFrame:
    return _with(claim, _with_theory(claim), lambda frame: frame["said"] + value).drop(columns="said")


def _ratio_to_theory(claim: Claim, value: float) -> pd.DataFrame:
    return _with(claim, _with_theory(claim), lambda frame: frame["said"] * value).drop(columns="said")


def _error_beside_theory(claim: Claim, value: float) -> pd.DataFrame:
    frame = _with_theory(claim)
    error = (1 - frame["said"]) * np.exp(value) * (1 + NOISE * _noise(frame))
    return frame.assign(**{claim.measure["measure"]: 1 - error}).drop(columns="said")


def _error_beside_own_ratio(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of").assign(readout_ratio=1.4)
    error = (1 - float(rich.test_accuracy(claim.measure["of"]["L"], 1.4))) * np.exp(value) * (1 + NOISE * _noise(frame))
    return frame.assign(final_test_acc=1 - error)


def _threshold_ratio(claim: Claim, value: float) -> pd.DataFrame:
    over = claim.measure.get("over", "L")
    frames = {side: _thinned(networks(claim, side), over) for side in ("a", "b")}
    x = pd.concat(frames.values())[over].to_numpy(float)
    middle = np.sqrt(x[x > 0].min() * x.max())
    at = {"a": middle * np.sqrt(value), "b": middle / np.sqrt(value)}
    return pd.concat([_with(claim, frame, lambda f, s=side: _curve(claim, f[over], at[s])) for side, frame in frames.items()])


def _threshold_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Thresholds that grow as a power of `against`; those of the networks to subtract do not grow."""
    of = _thresholds(claim, _in_powers(networks(claim, "of"), claim), value)
    return of if "minus" not in sides(claim) else pd.concat([of, _thresholds(claim, networks(claim, "minus"), 0.0)])


def _in_powers(frame: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    against = claim.measure.get("against", "d")
    for key, power in claim.measure.get("as_powers", {}).items():
        frame = frame[frame[key] == (frame[against] ** power).round()]
    for key, power in claim.measure.get("growing", {}).items():
        frame = in_power(frame, key, {against: power})
    return frame


def _exponent_beside_bound(claim: Claim, value: float) -> pd.DataFrame:
    against, level = claim.measure.get("against", "d"), claim.measure["level"]
    frame = networks(claim, "of")
    if against == "d":
        frame = frame[frame["width"] == claim.measure.get("ratio", 1) * frame["d"]]
    sizes = frame[["width", "d"]].drop_duplicates()
    scaling = large_deviation.as_scaling(frame["scaling"].iloc[0])
    said = large_deviation.slope(level, sizes["width"].to_numpy(), sizes["d"].to_numpy(), scaling, against)
    return _thresholds(claim, frame, value + said)


def _threshold_beside_bound(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of")
    frame = _thinned(frame[frame["width"] == claim.measure.get("ratio", 1) * frame["d"]], "P")
    scaling = large_deviation.as_scaling(frame["scaling"].iloc[0])
    middle = value * predicted_samples(frame, scaling, claim.measure["level"]).to_numpy()
    return _with(claim, frame, lambda f: _curve(claim, f["P"], middle))


def _threshold_spread(claim: Claim, value: float) -> pd.DataFrame:
    """Thresholds in units that alternate by size between two values, as far apart as the spread asks for."""
    frame, unit = networks(claim, "of"), claim.measure["unit"]
    sizes = frame.groupby(list(unit), sort=True).ngroup()
    scores = pd.Series([(-1.0) ** size for size in range(sizes.max() + 1)])
    off = (scores - scores.mean()) / scores.std()
    units = np.prod([frame[key].to_numpy(float) ** power for key, power in unit.items()], axis=0)
    at_middle = np.exp(frame.assign(unit=units).groupby(list(unit))["P"].transform(lambda P: np.log(P).mean()) - np.log(units))
    middle = units * np.exp(np.log(at_middle).mean() + value * sizes.map(off).to_numpy())
    return _with(claim, frame, lambda f: _curve(claim, f["P"], middle))


def _specialised_beside_bound(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of").assign(alignment_f=0.7)
    sizes = frame.rename(columns={"alignment_f": "alignment"}).drop_duplicates(["width", "d"])
    said = specialised_neurons(sizes, large_deviation.as_scaling(frame["scaling"].iloc[0]))
    said = said.set_axis(pd.MultiIndex.from_frame(sizes[["width", "d"]]))
    counts = value * said.reindex(pd.MultiIndex.from_frame(frame[["width", "d"]])).to_numpy()
    return frame.assign(n_specialised_1=counts * (1 + NOISE * _noise(frame)))


def _layer_beside_energy(claim: Claim, value: float) -> pd.DataFrame:
    frame, layer = networks(claim, "of").assign(alignment_f=0.5), claim.measure["layer"]
    sizes = zip(frame["d"].astype(int), frame["width1"].astype(int), frame["width"].astype(int), strict=True)
    asked = np.array([sp_mag(0.5, d, N1, N2).M1 if layer == 1 else gp_sp(0.5, d, N2).M2 for d, N1, N2 in sizes])
    by_luck = frame["width1" if layer == 1 else "width"].map(by_chance)
    return frame.assign(**{f"n_specialised_{layer}": value * asked * (1 + NOISE * _noise(frame)) + by_luck})


def _magnitude_beside_one_neuron(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of")
    root = np.sqrt(frame["width"] / frame["width"].min())
    frame = frame[np.abs(frame["P"] - root * 512) < 1]
    sizes = frame[["d", "width", "P", "kappa"]].drop_duplicates()
    said = {size[1]: parity.specialised(*map(float, size)).magnitude for size in sizes.itertuples(index=False, name=None)}
    widths = frame["width"].to_numpy(float)
    return frame.assign(magnitude_1=frame["width"].map(said) * (widths / widths.min()) ** value * (1 + NOISE * _noise(frame)))


def _extremes(claim: Claim, value: float) -> pd.DataFrame:
    """Weights of 2 x 2 patches that differ along each edge by one angle; the networks to divide by have sizes of 1."""
    likeness = value if claim.measure["quantity"] == "likeness" else 0.5
    size = value if "over" in claim.measure else 1.0
    parts = [(networks(claim, "of"), size), *((networks(claim, side), 1.0) for side in sides(claim) if side == "over")]
    rng = np.random.default_rng(0)

    def pictures(patch_size: int, size: float) -> list[dict[str, Any]]:
        one, other = np.linalg.qr(rng.standard_normal((patch_size**2, 2)))[0].T.reshape(2, patch_size, patch_size) / 2
        like = likeness * one + np.sqrt(1 - likeness**2) * other
        sizes = size * (1 + NOISE * rng.standard_normal(4))
        shown = [a * np.block([[one, like], [-like, one]]) for a in sizes]
        return [
            {"kind": "weights", "neuron": i, "readout": sign * a, "shape": w.shape, "pixels": w.ravel(), "rulings": patch_size}
            for i, (sign, a, w) in enumerate(zip((1, 1, -1, -1), sizes, shown, strict=True))
        ]

    made = [frame.assign(best_test_acc=1.0, pictures=[pictures(n, a) for n in frame["patch_size"]]) for frame, a in parts]
    return pd.concat(made)


def _spread_exponent(claim: Claim, value: float) -> pd.DataFrame:
    return _spreading(networks(claim, "of"), lambda frame: frame["width"].to_numpy(float) ** value)


def _spread_ratio(claim: Claim, value: float) -> pd.DataFrame:
    sizes = {"a": value, "b": 1.0}
    return pd.concat(_spreading(networks(claim, side), lambda _, size=size: size) for side, size in sizes.items())


def _spread_beside_lazy(claim: Claim, value: float) -> pd.DataFrame:
    frame = networks(claim, "of")
    said = of_hermite(*(int(frame[key].iloc[0]) for key in ("degree", "d", "P"))).value
    return _spreading(frame, lambda frame: value * said / frame["width"])


def _shift_exponent(claim: Claim, value: float) -> pd.DataFrame:
    """Outputs off those at infinite width, which are 1, by a power of the width."""
    frame = _spreading(networks(claim, "of"), lambda _: 1e-9)
    off = frame["width"].to_numpy(float) ** value * (1 + NOISE * _noise(frame))
    limit = networks(claim, "infinite").assign(output=lambda f: [[1.0] * EXAMPLES] * len(f))
    outputs = [[1 + shift + x for x in own] for shift, own in zip(off, frame["output"], strict=True)]
    return pd.concat([frame.assign(output=outputs), limit])


def _onset_exponent(claim: Claim, value: float) -> pd.DataFrame:
    return _with_onset(claim, "of", "infinite", value, 1.0)


def _onset_ratio(claim: Claim, value: float) -> pd.DataFrame:
    """P* of networks above and below sqrt(width); or of ensembles, whose error is less by a spread."""
    if "over" not in claim.measure:
        return _with_onset(claim, "of", "infinite", 0.5, 1.0, ensemble=value)
    sides = (("of", "infinite", value**0.5), ("over", "over_infinite", value**-0.5))
    return pd.concat([_with_onset(claim, side, limit, 0.5, times) for side, limit, times in sides])


def _with_onset(claim: Claim, side: str, limit: str, exponent: float, times: float, ensemble: float = 1.0) -> pd.DataFrame:
    """Networks of four data sets whose error grows as P^2 and is the factor times 0.1 at P*, `times` a power of the width; 0.1 at
    infinite width. Outputs are such that the ensemble of each data set has its P* at `ensemble` times as many examples."""
    frame, infinite = (part[part["data_seed"] < SEEDS] for part in (networks(claim, side), networks(claim, limit)))
    P, size = (frame[key].to_numpy(float) for key in ("P", "width"))
    onset = times * 64 * (size / 48) ** exponent  # within the P of every width
    errors = 0.1 * claim.measure["factor"] * (P / onset) ** 2
    spread = np.sqrt(errors * (1 - ensemble**-2))
    sign = np.where(frame["seed"] % 2, 1, -1)
    frame = frame.assign(test_mse=errors * (1 + NOISE * _noise(frame)), output=[[x] * EXAMPLES for x in spread * sign])
    return pd.concat([frame, infinite.assign(test_mse=0.1, output=[[0.0] * EXAMPLES] * len(infinite))])


EXAMPLES = 3
"""Outputs of a made network."""


def _spreading(frame: pd.DataFrame, spread: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    """Four networks of each width on each of SEEDS data sets, whose outputs have this variance, up to noise of the data set."""
    parts = []
    for _, of in frame[frame["data_seed"] < SEEDS].groupby(["data_seed", "width"]):
        four = of.sort_values("seed").head(4)
        signs = np.array([1.0, -1.0, 1.0, -1.0]) * np.sqrt(3 / 4)  # of variance 1
        sizes = np.sqrt(spread(four) * np.full(4, 1 + NOISE * _noise(four)[0]))
        parts.append(four.assign(output=[[size * sign] * EXAMPLES for size, sign in zip(sizes, signs, strict=True)]))
    return pd.concat(parts)


def _larger_readouts(claim: Claim, value: float) -> pd.DataFrame:
    """Networks of 1000 positive readouts and one negative one, which is larger than the share of these."""
    frame = networks(claim, "of")
    shares = np.clip(value + 0.01 * _noise(frame), 0, 1)
    readouts = [[*np.linspace(0.001, 1, 1000), -float(share)] for share in shares]
    return frame.assign(neuron_readout=readouts, neuron_alignment=[[0.0] * 1001] * len(frame))


GENERATORS: dict[str, Callable[[Claim, float], pd.DataFrame]] = {
    "mean": _mean,
    "slope": _slope,
    "optimum_exponent": _optimum_exponent,
    "peak_ratio": _peak_ratio,
    "difference": _difference,
    "largest_difference": _largest_difference,
    "turn": _turn,
    "difference_of_measures": _difference_of_measures,
    "at_first": _at_first,
    "steps_ratio": _steps_ratio,
    "steps_exponent": _steps_exponent,
    "curve_exponent": _curve_exponent,
    "time_exponent": _time_exponent,
    "time_beside_modes": _time_beside_modes,
    "samples_exponent": _samples_exponent,
    "envelope_exponent": _envelope_exponent,
    "beside_theory": _beside_theory,
    "error_beside_theory": _error_beside_theory,
    "larger_readouts": _larger_readouts,
    "error_beside_own_ratio": _error_beside_own_ratio,
    "ratio_to_theory": _ratio_to_theory,
    "threshold_ratio": _threshold_ratio,
    "threshold_exponent": _threshold_exponent,
    "exponent_beside_bound": _exponent_beside_bound,
    "threshold_beside_bound": _threshold_beside_bound,
    "threshold_spread": _threshold_spread,
    "specialised_beside_bound": _specialised_beside_bound,
    "layer_beside_energy": _layer_beside_energy,
    "magnitude_beside_one_neuron": _magnitude_beside_one_neuron,
    "extremes": _extremes,
    "spread_exponent": _spread_exponent,
    "spread_ratio": _spread_ratio,
    "spread_beside_lazy": _spread_beside_lazy,
    "shift_exponent": _shift_exponent,
    "onset_exponent": _onset_exponent,
    "onset_ratio": _onset_ratio,
}


def _with(claim: Claim, frame: pd.DataFrame, law: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    """The networks with the claim's metric by this law, with noise over seeds, within the metric's bounds.

    Accuracies near 1 have less noise, as claims tell smaller differences apart there.
    """
    name = _metric(claim)
    metric = MEASURES[name]
    values = np.asarray(law(frame), dtype=float)
    spread = NOISE * np.maximum(np.abs(values), metric.is_accuracy)
    if metric.is_accuracy:
        spread = np.where(values < 1, np.minimum(spread, (1 - values) / 10), spread)
    low, high = claim.expected.region
    spread = np.minimum(spread, (high - low) / 20)
    values = np.clip(values + spread * _noise(frame), metric.low, metric.high)
    column, of = IN_FILES.get(name, (name, np.asarray))
    return frame.assign(**{column: of(values)})


def _metric(claim: Claim) -> str:
    usual = "alignment_f" if claim.measure["kind"].endswith(("_beside_bound", "threshold_spread")) else "best_test_acc"
    return str(claim.measure.get("measure", usual))


def _thresholds(claim: Claim, frame: pd.DataFrame, exponent: float) -> pd.DataFrame:
    """Networks whose metric reaches the level at x* ~ against^exponent, in the middle of the range at the middle size."""
    over = claim.measure.get("over", "P" if claim.measure["kind"] == "exponent_beside_bound" else "L")
    against = claim.measure.get("against", "d")
    frame = _thinned(frame, over)
    x, sizes = frame[over].to_numpy(float), frame[against].to_numpy(float)
    middle = np.sqrt(x[x > 0].min() * x.max()) * (sizes / np.sqrt(sizes.min() * sizes.max())) ** exponent
    return _with(claim, frame, lambda f: _curve(claim, f[over], middle))


def _curve(claim: Claim, x: "pd.Series[float]", threshold: Any) -> Any:
    """A metric that passes the claim's level at the threshold, steeply enough to leave a small interval."""
    level, sign = claim.measure["level"], -1 if MEASURES[claim.measure.get("measure", "best_test_acc")].falls else 1
    return level + sign * 0.8 * min(level, 1 - level) * np.tanh(np.log(np.maximum(x.to_numpy(float), 1e-9) / threshold))


def _thinned(frame: pd.DataFrame, axis: str) -> pd.DataFrame:
    """The networks at MOST_VALUES values of the axis, spread over its logarithm."""
    held = np.sort(frame.loc[frame[axis] > 0, axis].unique())
    at = np.unique(np.abs(np.log(held)[:, None] - np.linspace(*np.log(held[[0, -1]]), MOST_VALUES)).argmin(0))
    return frame[frame[axis].isin(held[at])]


def _noise(frame: pd.DataFrame) -> Any:
    """Numbers of standard deviation 1, others for other networks; uniform, as six normal ones may fall into two groups."""
    return np.random.default_rng(crc32(frame["cell_id"].iloc[0].encode())).uniform(-(3**0.5), 3**0.5, len(frame))
