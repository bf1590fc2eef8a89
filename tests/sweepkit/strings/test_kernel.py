"""The kernel by known answers: exact values, other ways to the same numbers, and where it is singular."""

from itertools import product

import numpy as np
import pytest
from scipy.special import erf

from sweepkit.strings.attention import attention
from sweepkit.strings.kernel import Kernel, dual, pattern_of
from sweepkit.strings.patterns import parsed

PAIRS = ("aa/ab", "aba/abb", "aabb/abab")


def patterns(text):
    return tuple(map(parsed, text.split("/")))


@pytest.fixture
def coarse(monkeypatch):
    """Few points: for what does not depend on them, and for comparisons with draws whose error is larger."""
    monkeypatch.setattr("sweepkit.strings.attention.POINTS", (9, 8, 7, 5, 4, 3))
    attention.cache_clear()
    yield
    attention.cache_clear()


def drawn(x, y, beta, position, n=100_000, seed=0):
    """K_a of two strings of tokens from n draws of z and p, and its standard error."""
    rng, length = np.random.default_rng(seed), len(x) + 1
    x, y = [*x, -1], [*y, -1]
    z = {token: rng.standard_normal(n) for token in {*x, *y}}
    p = position * rng.standard_normal((n, length))
    masses = []
    for string in (x, y):
        m = np.exp(beta * (np.stack([z[token] for token in string], 1) + p))
        masses.append(m / m.sum(1, keepdims=True))
    alike = (np.array(x)[:, None] == np.array(y)) + position**2 * np.eye(length)
    values = np.einsum("ni,ij,nj->n", masses[0], alike, masses[1])
    return values.mean(), values.std() / n**0.5


@pytest.mark.parametrize(
    ("pair", "beta", "n00", "n01", "n11", "own"),
    [
        ("aa/ab", 1, 0.67986, 0.66033, 0.64448, (1.23983, 1.11875)),
        ("aba/abb", 1, 0.50422, 0.50274, 0.50425, (1.0276, 1.0276)),
        ("aba/abb", 4, 0.7424, 0.7272, 0.7427, (1.6648, 1.6648)),
        ("aabb/abab", 1, 0.4134, 0.4125, 0.4133, (0.9490, 0.9490)),
        ("aabb/abab", 4, 0.6709, 0.6546, 0.6710, (1.6287, 1.6287)),
    ],
)
def test_values_of_another_computation(pair, beta, n00, n01, n11, own):
    """It drew Sobol points of all z and p: its errors are 5e-5 at beta = 1 and 5e-4 at 4, of three deviations each."""
    of = attention(patterns(pair), beta, 1)
    within = 3 * np.hypot(5e-5 if beta == 1 else 5e-4, max(of.error(0, 0), of.error(0, 1), of.error(1, 1)))
    found = [of.between(0, 0), of.between(0, 1), of.between(1, 1), of.own(0), of.own(1)]
    np.testing.assert_allclose(found, [n00, n01, n11, *own], rtol=0, atol=within)


@pytest.mark.parametrize(
    ("pair", "between", "own"),
    [("aa/ab", 0.4444, (0.8889, 0.6667)), ("aba/abb", 0.3125, (0.625, 0.625)), ("aabb/abab", 0.24, (0.56, 0.56))],
)
def test_without_temperature_attention_is_even(coarse, pair, between, own):
    """K_a = (1'XY'1 + gamma^2 (k + 1))/(k + 1)^2, where 1'XY'1 counts the pairs of places with one token."""
    of = attention(patterns(pair), 0, 1)
    for i, j in product(range(2), repeat=2):
        assert of.between(i, j) == pytest.approx(between, abs=5e-5)  # rounded to four digits
    assert (of.own(0), of.own(1)) == pytest.approx(own, abs=5e-5)
    k = len(patterns(pair)[0]) + 1
    assert of.between(0, 1) == pytest.approx((1 + k) / k**2, abs=1e-13)  # no error of integration: only of 1e4 sums


def test_taylor_coefficients():
    """Derivatives at beta = gamma = 0 by Wick's theorem, of one token before CLS: d^2_beta d^2_gamma K_a = 8 tr(XY')/k^2 -
    8 1'XY'1/k^3 with k = 2, and d^4_beta K_a = -1.5 for two tokens."""
    one = (parsed("a"),)

    def values(beta, position):
        """The part that is even in beta, as K_a is: the points are not symmetric."""
        both = [attention(one, sign * beta, position) for sign in (1, -1)]
        return np.mean([(of.between(0, 0), of.own(0)) for of in both], 0)

    def mixed(h):
        even = values(h, h) - values(h, 1e-9) - values(0, h) + values(0, 0)
        return 4 * even / h**4

    # The next terms are O(h^2), and Richardson's extrapolation leaves those of O(h^4), some 1e-2 here; values at 1e-9 are of
    # the same points as those at h, so that what the points lack of the normal law's moments, 1e-3, is all that they add.
    np.testing.assert_allclose((4 * mixed(0.1) - mixed(0.2)) / 3, [1, 2], atol=0.03)

    # K_a = 1/4 + c_2 beta^2 + c_4 beta^4/24 + c_6 beta^6/720; c_2 = 1/16 falls out of the difference, with what the points miss
    # of it (the tails, 2e-3). c_6 is some 60 and adds c_6 h^2/6 = 0.03; the points miss some 1e-2 of fourth moments.
    h = 0.05
    once, twice = ((values(at, 0)[0] - 1 / 4) / at**2 for at in (h, 2 * h))
    assert 24 * (twice - once) / (3 * h**2) == pytest.approx(-1.5, abs=0.06)


@pytest.mark.parametrize("pair", ["aa/ab", "aba/abb", "aXb/aXa", "XaY/YaX", "abc/aba"])
@pytest.mark.parametrize(("beta", "position"), [(1, 1), (4, 0.5)])
def test_each_value_of_the_table_is_that_of_draws(coarse, pair, beta, position):
    """Strings of all ways to share tokens. Within four standard errors, as there are some 30 values each."""
    of, both = attention(patterns(pair), beta, position), patterns(pair)
    known = {"X": 100, "Y": 101}
    for i, j in ((0, 0), (0, 1), (1, 1)):
        ours, theirs = ({t for t in both[n] if isinstance(t, int)} for n in (i, j))
        for to in product([None, *theirs], repeat=len(ours)):
            shared = tuple((a, b) for a, b in zip(ours, to, strict=True) if b is not None)
            if len({b for _, b in shared}) < len(shared):
                continue
            back = {b: a for a, b in shared}
            x = [known[t] if isinstance(t, str) else t for t in both[i]]
            y = [known[t] if isinstance(t, str) else back.get(t, 10 + t) for t in both[j]]
            value, error = drawn(x, y, beta, position)
            assert of.between(i, j, shared) == pytest.approx(value, abs=4 * np.hypot(error, of.error(i, j, shared)))


def test_the_rule_of_few_nodes_is_as_good_as_one_of_many(monkeypatch):
    """The change is some 1e-4 of N_00 and 3e-4 where all tokens are shared, twice the standard error of the points."""
    monkeypatch.setattr("sweepkit.strings.attention.SCRAMBLINGS", 1)
    attention.cache_clear()
    few = attention(patterns("aba/abb"), 4, 1).values
    monkeypatch.setattr("sweepkit.strings.attention.NODES", (24,) * 6)
    attention.cache_clear()
    np.testing.assert_allclose(few, attention(patterns("aba/abb"), 4, 1).values, rtol=0, atol=5e-4)
    attention.cache_clear()


def test_too_many_wildcards_are_refused():
    with pytest.raises(ValueError, match="at most 5 wildcards, and a template here has 6"):
        attention((parsed("abcdef"),), 1, 1)


@pytest.mark.parametrize(("activation", "phi"), [
    ("cos", lambda t: np.cos(1.3 * t + 0.4)), ("relu", lambda t: np.maximum(t, 0)), ("erf", erf),
])  # fmt: skip
def test_the_formula_of_each_activation_is_the_mean_of_draws(activation, phi):
    kxx, kxy, kyy = 1.2, 0.5, 0.8
    u, v = np.random.default_rng(0).multivariate_normal([0, 0], [[kxx, kxy], [kxy, kyy]], 1_000_000).T
    draws = phi(u) * phi(v)
    found = dual(activation, *map(np.array, (kxx, kxy, kyy)), b1=1.3, b2=0.4)
    assert found == pytest.approx(draws.mean(), abs=4 * draws.std() / 1e3)
    equal = dual(activation, *map(np.array, (kxx, kxx, kxx)), b1=1.3, b2=0.4)
    assert equal == pytest.approx((phi(u) ** 2).mean(), abs=4 * (phi(u) ** 2).std() / 1e3)


TOKENS = np.random.default_rng(0).permuted(np.tile(np.arange(7), (60, 1)), axis=1)
STRINGS = np.concatenate([TOKENS[:, [0, 1, 0]], TOKENS[:, [0, 1, 1]]])
"""Of aba and of abb, over seven tokens, with repeats."""


@pytest.mark.parametrize("activation", ["cos", "relu", "erf"])
@pytest.mark.parametrize("beta", [4, 16])
def test_gram_matrices_are_symmetric_and_positive(coarse, activation, beta):
    """To rounding, whatever the error of the values: they are those of another law."""
    x = STRINGS
    gram = Kernel(patterns("aba/abb"), beta, 1, activation).gram(x, x)
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(gram)[0] > -1e-12 * len(x)


def test_a_gram_matrix_is_looked_up(coarse):
    """Row by row it is the value of the strings' templates and shared tokens; renamed tokens have the same."""
    kernel, x = Kernel(patterns("aba/abb"), 1, 1), STRINGS[::11]
    gram = kernel.gram(x, x[:5])
    for row, string in enumerate(x):
        for column, other in enumerate(x[:5]):
            u, v = (list(dict.fromkeys(one.tolist())) for one in (string, other))
            shared = tuple((u.index(token), v.index(token)) for token in u if token in v)
            i, j = (kernel.patterns.index(pattern_of(one)) for one in (string, other))
            assert gram[row, column] == kernel.between(i, j, shared)
    np.testing.assert_array_equal(kernel.gram(x + 5, x[:5] + 5), gram)
    np.testing.assert_array_equal(kernel.own_of(x), np.diag(kernel.gram(x, x)))


def test_regular_tokens_are_alike_in_all_strings(coarse):
    kernel = Kernel(patterns("aXb/YXa"), 1, 1)
    x = np.array([[5, 0, 6], [1, 0, 7], [6, 0, 8]])
    assert [pattern_of(string, ["X", "Y"]) for string in x] == [(0, "X", 1), ("Y", "X", 0), (0, "X", 1)]
    gram = kernel.gram(x, x, ["X", "Y"])
    assert gram[0, 1] == kernel.between(0, 1) and gram[0, 2] == kernel.between(0, 0, ((1, 0),))
    assert kernel.matrix[0, 1] == kernel.between(0, 1)
    apart = Kernel(patterns("aXb/YZa"), 1, 1)
    assert kernel.attention.between(0, 1) > apart.attention.between(0, 1) + 0.1  # X stands at one place in both


def test_a_string_of_another_template_is_refused(coarse):
    with pytest.raises(ValueError, match="a string of template abc, which is none of this kernel's"):
        Kernel(patterns("aba/abb"), 0, 1).gram(np.array([[1, 2, 3]]), np.array([[1, 2, 1]]))


@pytest.mark.parametrize(("pair", "beta", "position", "activation"), [
    *((pair, 0, 1, "cos") for pair in PAIRS), ("aba/abb", 0, 1, "relu"),
    ("aba/abb", 4, 0, "cos"), ("aabb/abab", 4, 0, "cos"),
])  # fmt: skip
def test_where_templates_are_not_told_apart(coarse, pair, beta, position, activation):
    """To rounding, as the computed kernel is one of strings itself: permuted templates have one K_a without positions."""
    assert abs(Kernel(patterns(pair), beta, position, activation).least_eigenvalue) < 1e-13


def test_relu_tells_templates_of_unlike_norms_without_attention(coarse):
    assert Kernel(patterns("aa/ab"), 0, 1, "relu").least_eigenvalue == pytest.approx(0.0011, abs=5e-5)  # rounded


@pytest.mark.parametrize(("pair", "beta", "condition"), [("aa/ab", 1, 1390), ("aba/abb", 1, 2000), ("aba/abb", 4, 168)])
def test_where_they_are_told_apart(pair, beta, condition):
    """Errors of N are below half the differences of K_a's: the least eigenvalue is more than ten of them."""
    kernel = Kernel(patterns(pair), beta, 1)
    singular, of = kernel.least_eigenvalue, kernel.attention
    differences = (of.values[:, 0, 0] - of.values[:, 0, of.entries.index((1, ()))]) / 2
    assert singular > 10 * differences.std(ddof=1) / len(differences) ** 0.5
    assert np.linalg.cond(kernel.matrix) == pytest.approx(condition, rel=0.03)  # both with errors of about 1% in N_00 - N_01
