"""The compiled draws: Philox's published numbers, and what normal numbers must do."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from trainables.kernels.draws import standard_normal, symbol_pairs
from trainables.kernels.random import fill_batches, first_word, philox


@pytest.mark.parametrize(
    ("word", "expected"),
    [(0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]), (0xFFFFFFFF, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD])],
)
def test_philox_gives_the_published_words(word, expected):
    """The known answers that its authors publish (Random123, kat_vectors) for counter and key all zeros, all ones."""
    assert [int(x) for x in philox(*6 * [np.uint64(word)])] == expected


@pytest.mark.parametrize("key", [0, 1, 2**64 - 1, 0x0123456789ABCDEFFEDCBA9876543210, 2**128 - 1])
@pytest.mark.parametrize("block", [0, 1, 2**40])
def test_the_first_word_of_a_block_is_numpys(key, block):
    high, low = divmod(key, 2**64)
    drawn = np.random.Generator(np.random.Philox(key=key, counter=block << 128)).integers(0, 2**64, dtype=np.uint64)
    assert first_word(np.uint64(low), np.uint64(high), block) == drawn


@pytest.mark.parametrize(("n_symbols", "batch"), [(2, 1), (2, 128), (16, 128), (17, 8), (300, 128), (5000, 128), (70000, 64)])
@pytest.mark.parametrize(("first", "n"), [(0, 20), (13, 31), (12_345_678, 4)])
def test_batches_drawn_at_once_are_those_of_each_block_sorted(n_symbols, batch, first, n):
    """Blocks of 10 steps, each from a generator of its own, as the task draws them."""
    low, high = 12345, 67890
    codes = np.zeros((n, batch), np.int64)
    fill_batches(np.uint64(low), np.uint64(high), n_symbols, 10, first, codes)
    rows = []
    for block in range(first // 10, (first + n - 1) // 10 + 1):
        u, v = symbol_pairs(
            np.random.Generator(np.random.Philox(key=high << 64 | low, counter=block << 128)), 10 * batch, n_symbols
        )
        rows.append((u.astype(np.int64) * n_symbols + v).reshape(10, batch))
    start = first % 10
    assert np.array_equal(codes, np.sort(np.concatenate(rows)[start : start + n], axis=1))


def test_normal_numbers_are_normal():
    x = standard_normal(np.random.default_rng(0), (1000, 2000))
    assert x.dtype == np.float32
    assert stats.kstest(x.ravel(), "norm").pvalue > 1e-3
    # 2 million draws: standard errors of mean, variance and fourth moment; five of them.
    n = x.size
    for moment, expected, variance in ((1, 0, 1), (2, 1, 2), (4, 3, 96)):
        assert (x.astype(float) ** moment).mean() == pytest.approx(expected, abs=5 * (variance / n) ** 0.5)
    assert 4.5 < np.abs(x).max() < 6.7


def test_known_numbers():
    """Bit for bit, on every processor: what cells draw must not change silently. Raise SCIENCE_VERSION if it must."""
    x = standard_normal(np.random.default_rng(0), (1024,))[[0, 1, 256, 512, 768, 1023]]
    assert [float(value).hex() for value in x] == KNOWN_NORMALS
    u, v = symbol_pairs(np.random.default_rng(0), 10, 7)
    assert (u.tolist(), v.tolist()) == ([3, 3, 2, 6, 0, 5, 5, 4, 6, 2], [2, 5, 2, 6, 3, 1, 5, 4, 6, 2])


KNOWN_NORMALS = ["-0x1.cd20600000000p-4", "-0x1.cefb640000000p-4", "-0x1.5a49a40000000p-2", "-0x1.d91ce00000000p-2",
                 "-0x1.6558760000000p-3", "0x1.a5701c0000000p-1"]  # fmt: skip


def test_draws_do_not_depend_on_the_processor():
    """A processor without fused multiply-add gives the same numbers."""
    code = (
        "import numpy as np; from trainables.kernels.draws import standard_normal; "
        "print(standard_normal(np.random.default_rng(0), (4096,)).tobytes().hex())"
    )
    old = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    here, there = (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        for env in (os.environ, old)
    )
    assert here == there


def test_neighbours_are_independent():
    x = standard_normal(np.random.default_rng(1), (1 << 20,)).astype(float)
    for lag in (1, 2, 255, 256, 257, 512, 768, 1024):  # within a counter's four words and between counters
        assert abs((x[lag:] * x[:-lag]).mean()) < 5 / 2**10


@pytest.mark.parametrize("n", [0, 1, 3, 1023, 1024, 1025])
def test_any_length(n):
    x = standard_normal(np.random.default_rng(2), (n,))
    assert x.shape == (n,)
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(x, standard_normal(np.random.default_rng(2), (2048,))[:n])


@pytest.mark.parametrize("n_symbols", [2, 3, 100])
def test_pairs_reach_every_symbol_and_every_difference(n_symbols):
    u, v = symbol_pairs(np.random.default_rng(3), 100_000, n_symbols)
    for x in (u, v):
        assert stats.chisquare(np.bincount(x, minlength=n_symbols)).pvalue > 1e-3
    apart = (v - u) % n_symbols
    assert abs((apart == 0).mean() - 0.5) < 5 * 0.5 / 100_000**0.5
    assert stats.chisquare(np.bincount(apart[apart > 0], minlength=n_symbols)[1:]).pvalue > 1e-3 or n_symbols == 2
