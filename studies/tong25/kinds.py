"""Measurements for claims: on the theory's own models, by drawing from them, and on networks beside Eq. C.18."""

from typing import Any

import numpy as np

from analysis.claims.kinds.declared import kind
from analysis.claims.kinds.measuring import ties
from analysis.claims.networks_used import Where, networks
from analysis.claims.verdict import Measured, NotMeasured
from analysis.data.measures import measures
from analysis.theory.cache import kept
from sweepkit.stats import Interval, mean_interval
from sweepkit.store.sql import literal
from sweepkit.store.views import fetch

from .pictured import extremes as extremes
from .theory import handcrafted, markov, max_margin, rich

Found = Measured | NotMeasured


@kind
def markov_mu(results: str, sign: int, definition: str, runs: int = 2000) -> Found:
    """mu of the Markov process [App. C.3], mean over runs; `definition` is code or text (see `theory.markov`)."""
    mu = np.asarray(kept(process, sign, runs)[definition])
    known = mu[~np.isnan(mu)]
    return Measured(
        mean_interval(known), f"mu by the {definition}'s definition, 2 s.d. of runs {2 * known.std():.3f}; {runs} runs"
    )


@kind
def markov_cosine(results: str, sign: int, runs: int = 2000) -> Found:
    """Cosine of the Markov process's two halves after the paper's 100 batches of 512 draws from 16 symbols [App. C.4], mean over
    runs."""
    return Measured(mean_interval(kept(process, sign, runs)["cosine"], bounds=(-1, 1)), f"cosine of the halves; {runs} runs")


@kind
def markov_norms(results: str, sign: int, runs: int = 2000) -> Found:
    """Smaller over larger norm of those halves, mean over runs."""
    return Measured(
        mean_interval(kept(process, sign, runs)["norms"], bounds=(0, 1)), f"ratio of norms of the halves; {runs} runs"
    )


@kind
def handcrafted_accuracy(results: str, rho: float, d: int = 64, examples: int = 100_000) -> Found:
    """Share of different pairs that the hand-crafted network gets right [S3.1]."""
    share = kept(different_right, float(rho), d, examples)
    error = 1.96 * np.sqrt(share * (1 - share) / examples)
    return Measured(
        Interval(share, share - error, share + error, examples, "normal"),
        f"share of right answers at rho = {rho:g}, {examples} different pairs drawn",
    )


@kind
def max_margin_eigenvalue(
    results: str, sign: int, d: int = 8, symbols: int = 20_000, examples: int = 200_000, draws: int = 6
) -> Found:
    """Mean over draws of the farthest eigenvalue: among the d eigenvalues of 2d X with this sign [Theorem 1], the one farthest
    from +1 or -1."""
    farthest = kept(eigenvalues, d, symbols, examples, draws)["positive" if sign > 0 else "negative"]
    drawn = f"d = {d}, {symbols} symbols, {examples} examples, {draws} draws"
    return Measured(mean_interval(farthest), f"eigenvalue of 2d X farthest from {1 if sign > 0 else -1}; {drawn}")


@kind
def max_margin_halves(results: str, sign: int, draws: int = 24) -> Found:
    """Cosine of the halves of the extreme eigenvector at Fig. C1's size: 3000 examples of 64 symbols, d = 1024."""
    cosines = kept(cosines_of_halves, draws)["largest" if sign > 0 else "smallest"]
    return Measured(
        mean_interval(cosines, bounds=(-1, 1)),
        f"cosine of the halves of the extreme eigenvector; 64 symbols, d = 1024, 3000 examples, {draws} draws",
    )


@kind
def error_beside_own_ratio(results: str, of: Where, prefer: Where | None = None) -> Found:
    """Logarithm of the networks' mean error, by their last weights, over the mean of those that Eq. C.18 says at each one's own
    readout ratio. The networks have one L."""
    found, ratios = networks(results, of, "final_test_acc", prefer=prefer), networks(results, of, "readout_ratio", prefer=prefer)
    if found.frame.empty or ratios.frame.empty:
        return NotMeasured(found.what if found.frame.empty else ratios.what)
    said = float(np.mean([1 - rich.test_accuracy(of["L"], ratio) for ratio in ratios.frame["value"]]))
    equal = ties(found.frame, measures(results)["final_test_acc"])
    error = mean_interval(1 - found.frame["value"], bounds=(0, 1), sd_of_ties=equal)
    with np.errstate(divide="ignore"):
        value, low, high = (float(np.log(end / said)) for end in error[:3])
    told = f"natural logarithm of the factor {np.exp(value):.3g}: error {error.value:.3g} over {said:.3g}"
    return Measured(error._replace(value=value, low=low, high=high), f"{told}; 1 - {found.what}", found.again)


@kind
def larger_readouts(results: str, of: Where, prefer: Where | None = None) -> Found:
    """Share of the pairs of a negative and a positive readout in which the negative one is larger, mean over the networks that
    saved their neurons: 1/2 if both have one distribution."""
    saved = frozenset(cell_id for (cell_id,) in fetch(results, "SELECT DISTINCT cell_id FROM neurons"))
    found = networks(results, of, None, prefer=prefer, among=saved)
    if found.frame.empty:
        return NotMeasured(f"no network of these has saved its neurons: {found.what}")
    ids = ", ".join(map(literal, found.frame["cell_id"]))
    rows = fetch(results, f"SELECT list(readout) FROM neurons WHERE cell_id IN ({ids}) GROUP BY cell_id ORDER BY cell_id")
    shares = [share for (readouts,) in rows if (share := _share_larger(np.asarray(readouts, float))) is not None]
    if not shares:
        return NotMeasured(f"no network has readouts of both signs: {found.what}")
    told = f"share of pairs whose negative readout is the larger; {found.what}"
    return Measured(mean_interval(shares, bounds=(0, 1)), told, found.again)


def _share_larger(readouts: np.ndarray[Any, Any]) -> float | None:
    positive, negative = np.sort(readouts[readouts > 0]), -readouts[readouts < 0]
    if not len(positive) or not len(negative):
        return None
    return float(np.searchsorted(positive, negative).mean() / len(positive))


# The draws, kept on disk: arguments and results are plain values.


def process(sign: int, runs: int) -> dict[str, list[float]]:
    """For each run of the Markov process, mu by both definitions; at its end, the cosine of the halves and the ratio of their
    norms."""
    drawn = markov.simulate(1 if sign > 0 else -1, n_runs=runs)
    cosine, norms = markov.halves_cosine(drawn.omega), markov.half_norm_ratio(drawn.omega)
    found = {"code": drawn.mu_code, "text": drawn.mu_text, "cosine": cosine, "norms": norms}
    return {name: values.tolist() for name, values in found.items()}


def different_right(rho: float, d: int, examples: int) -> float:
    """Share of `examples` different pairs that the network gets right."""
    return float(handcrafted.drawn_accuracy(rho, d, examples, np.random.default_rng(0)).different)


def eigenvalues(d: int, symbols: int, examples: int, draws: int) -> dict[str, list[float]]:
    """For each draw, the eigenvalue farthest from 1 among the d largest, and the one farthest from -1 among the d smallest."""
    spectra = [max_margin.empirical_spectrum(symbols, d, examples, np.random.default_rng(s)).eigenvalues for s in range(draws)]
    return {"positive": [_farthest(v[-d:], 1) for v in spectra], "negative": [_farthest(v[:d], -1) for v in spectra]}


def _farthest(values: np.ndarray[Any, Any], ideal: int) -> float:
    return float(values[np.abs(values - ideal).argmax()])


def cosines_of_halves(draws: int) -> dict[str, list[float]]:
    """For each draw, the cosine for the eigenvector of the largest eigenvalue, and for that of the smallest."""
    vectors = [max_margin.empirical_spectrum(64, 1024, 3000, np.random.default_rng(s)).vectors[:, [0, -1]] for s in range(draws)]
    smallest, largest = np.array([max_margin.halves_cosine(v) for v in vectors]).T.tolist()
    return {"smallest": smallest, "largest": largest}
