"""PSVRT and Pentomino [Tong25 App. G.3, G.4]: their images follow the definition, and what is impossible is refused."""

import numpy as np
import pytest
from pydantic import ValidationError

from trainables.tasks import PSVRT, Pentomino
from trainables.tasks.images.pentomino import drawn_shapes
from trainables.tasks.images.polyominoes import drawn, fixed, one_sided, rotations

RNG = np.random.default_rng


def content(task, x):
    """The two non-empty patches of each image (n, 2, size, size) and their places, read off the image itself."""
    n, size = task.patches, task.patch_size
    tiles = task.as_shown(x).reshape(-1, n, size, n, size).swapaxes(2, 3).reshape(len(x), n * n, size, size)
    filled = (tiles != 0).any((2, 3))
    assert (filled.sum(1) == 2).all()
    return tiles[filled].reshape(-1, 2, size, size), np.nonzero(filled)[1].reshape(-1, 2)


@pytest.mark.parametrize("task", [PSVRT(L=20, patches=3), Pentomino(L=9, patches=4)])
def test_images_hold_two_patches_at_uniform_places_and_half_are_the_same(task):
    symbols = task.draw_symbols(RNG(0))
    for draw in (task.train_examples, task.test_examples):
        x, same = draw(RNG(1), symbols, 3000)
        assert x.shape == (3000, task.input_dim) and x.dtype == np.float32
        _, places = content(task, x)
        assert same.mean() == pytest.approx(0.5, abs=0.046)  # five standard errors of 1/(2 sqrt(3000))
        counts = np.bincount(places.ravel(), minlength=task.n_places)
        expected = 6000 / task.n_places
        assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_psvrt_labels_compare_patterns_of_plus_and_minus_one():
    task = PSVRT(L=20, patches=3)
    x, same = task.train_examples(RNG(1), task.draw_symbols(RNG(0)), 500)
    pair, _ = content(task, x)
    assert set(np.unique(pair)) == {-1, 1}
    np.testing.assert_array_equal((pair[:, 0] == pair[:, 1]).all((1, 2)), same)


def codes(pair):
    """The number of each pattern, from its pixels in order."""
    bits = pair.reshape(-1, pair.shape[-1] ** 2) > 0
    return (bits * 2 ** np.arange(bits.shape[1])).sum(1)


def test_psvrt_trains_on_its_L_patterns_and_tests_on_all_others():
    task = PSVRT(L=11, patches=2, patch_size=2)  # 16 patterns in all
    symbols = task.draw_symbols(RNG(3))
    train, test = (codes(content(task, draw(RNG(4), symbols, 2000)[0])[0]) for draw in (task.train_examples, task.test_examples))
    assert set(train) == set(symbols) and len(symbols) == 11
    assert set(test) == set(range(16)) - set(symbols)
    counts = np.unique(test, return_counts=True)[1]
    assert np.abs(counts - 800).max() < 5 * np.sqrt(800)


def test_psvrt_draws_unseen_patterns_of_a_large_space():
    task = PSVRT(L=2048)
    symbols = task.draw_symbols(RNG(0))
    pair, _ = content(task, task.test_examples(RNG(5), symbols, 1000)[0])
    drawn_codes = codes(pair)
    assert not np.isin(drawn_codes, symbols).any()
    assert drawn_codes.mean() == pytest.approx(2**24, rel=0.075)  # uniform: sd 2^25/sqrt(12) over some 1500 draws, five of them


def test_psvrt_shows_the_same_images_whether_it_unpacks_all_patterns_or_those_shown():
    task = PSVRT(L=300, patches=2)
    symbols = task.draw_symbols(RNG(0))
    few, many = task.train_images(RNG(1), symbols, 100), task.train_images(RNG(1), symbols, 400)
    assert len(few.forms) < 200 and len(many.forms) == 300
    x, same = task.train_examples(RNG(1), symbols, 100)
    pair, _ = content(task, x)
    assert np.isin(codes(pair), symbols).all()
    np.testing.assert_array_equal((pair[:, 0] == pair[:, 1]).all((1, 2)), same)


def test_polyominoes_have_the_known_counts():
    """OEIS A001168 (fixed), A000988 (one-sided), A000105 (free)."""
    sizes = range(1, 8)
    assert [len(fixed(n)) for n in sizes] == [1, 2, 6, 19, 63, 216, 760]
    assert [len(one_sided(n)) for n in sizes] == [1, 1, 2, 7, 18, 60, 196]
    assert [len(free(n)) for n in sizes] == [1, 1, 2, 5, 12, 35, 108]


def free(n):
    """Classes under rotation and reflection, from the fixed ones."""

    def shifted(cells):
        top, left = min(i for i, _ in cells), min(j for _, j in cells)
        return frozenset((i - top, j - left) for i, j in cells)

    mirrored = {p: shifted({(i, -j) for i, j in p}) for p in fixed(n)}
    return {frozenset((*rotations(p), *rotations(mirrored[p]))) for p in fixed(n)}


def test_pentominoes_have_as_many_rotations_as_their_symmetry_leaves():
    """X has one; I, Z and S two; all others four (shared fact of the 18 one-sided pentominoes)."""
    counts = sorted(len(rotations(p)) for p in one_sided(5))
    assert counts == [1, 2, 2, 2] + [4] * 14
    forms, first, count = drawn_shapes(7, 0.0)
    assert sorted(count) == counts
    assert len({f.tobytes() for f in forms}) == 63
    for p, at, n in zip(one_sided(5), first, count, strict=True):
        whole = np.pad(drawn(p, 5), 1)  # a shape turns with its frame, about the frame's middle
        assert {np.rot90(whole, k).tobytes() for k in range(4)} == {f.tobytes() for f in forms[at : at + n]}


def test_pentomino_labels_compare_shapes_up_to_rotation_and_not_reflection():
    task = Pentomino(L=8, patches=2)
    forms, first, count = drawn_shapes(7, 0.0)
    shape_of = {forms[f].tobytes(): s for s in range(18) for f in range(first[s], first[s] + count[s])}
    symbols = task.draw_symbols(RNG(0))
    pair, _ = content(task, task.test_examples(RNG(2), symbols, 3000)[0])
    shapes = np.array([[shape_of[p.reshape(-1).tobytes()] for p in two] for two in pair])
    same = task.test_examples(RNG(2), symbols, 3000)[1]
    np.testing.assert_array_equal(shapes[:, 0] == shapes[:, 1], same)
    assert set(shapes.ravel()) == set(symbols[8:].tolist())
    # Rotations are drawn independently: of two equal shapes with four rotations, a quarter is turned alike.
    four = same & (count[shapes[:, 0]] == 4)
    alike = (pair[four, 0] == pair[four, 1]).all((1, 2)).mean()
    assert alike == pytest.approx(0.25, abs=5 * np.sqrt(0.1875 / four.sum()))


def test_pentomino_blurs_training_images_alone_and_within_their_patch():
    task = Pentomino(L=8)
    symbols = task.draw_symbols(RNG(0))
    train, test = (content(task, draw(RNG(1), symbols, 200)[0])[0] for draw in (task.train_examples, task.test_examples))
    assert set(np.unique(test)) == {0, 1}
    # The middle of a blur of 0.5 keeps 1/(1 + 2 exp(-2) + 2 exp(-8)) = 0.787 of a pixel in each direction; neighbours add to it.
    assert 0.787**2 < train.max() < 1 and len(np.unique(train)) > 10
    # What a blur of 0.5 pixels carries two pixels far is exp(-8) of its middle, summed over a border of at most 5 pixels.
    np.testing.assert_allclose(train.sum((2, 3)), 5, atol=5 * 5e-4)
    np.testing.assert_array_equal(drawn_shapes(7, 0.0)[0].sum(1), 5)


@pytest.mark.parametrize(
    ("task", "keys", "said"),
    [
        (Pentomino, {"L": 17}, "so L is at most 16"),
        (PSVRT, {"L": 15, "patch_size": 2}, "so L is at most 14"),
        (PSVRT, {"L": 2**25 - 1}, "needs two that training does not show"),
        (PSVRT, {"L": 4, "patches": 1}, "greater than or equal to 2"),
        (Pentomino, {"L": 4, "patch_size": 4}, "greater than or equal to 5"),
    ],
)
def test_what_is_impossible_is_refused(task, keys, said):
    with pytest.raises(ValidationError, match=said):
        task(**keys)
