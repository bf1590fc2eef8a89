"""Template tasks: strings are made as they say, tests show tokens that training never shows, and templates are distinct."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import chisquare

from trainables.tasks import Template
from trainables.tasks.template import different


def rng(k=0):
    return np.random.default_rng(k)


def test_strings_have_the_equalities_of_their_template():
    task = Template(template="aXba/aXbb", P=20)
    assert (task.input_dim, task.n_tokens, task.n_train) == (4, 1 + 20 + 100, 20)
    for draw, tokens in ((task.train_examples, range(1, 21)), (task.test_examples, range(21, 121))):
        x, y = draw(rng(), task.draw_symbols(rng()), 500)
        assert x.dtype == np.int64 and y.dtype == np.float32 and set(y) == {-1, 1}
        assert (x[:, 1] == 0).all()  # the regular token
        assert set(x[:, [0, 2, 3]].ravel()) <= set(tokens)
        first = y == 1
        assert (x[first, 3] == x[first, 0]).all() and (x[~first, 3] == x[~first, 2]).all()
        assert (x[:, 0] != x[:, 2]).all()


def test_the_alphabet_may_be_smaller_than_the_set():
    task = Template(template="ab/aa", P=200, alphabet=5, test_alphabet=3)
    x, _ = task.train_examples(rng(), task.draw_symbols(rng()), 200)
    assert set(x.ravel()) == set(range(5)) and task.n_tokens == 8


@pytest.mark.parametrize("size", [3, 5])
def test_each_choice_of_different_tokens_is_as_likely(size):
    drawn = different(rng(), 20_000, 3, size)
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == size * (size - 1) * (size - 2)
    assert chisquare(counts).pvalue > 1e-4


def test_templates_are_as_likely():
    _, y = Template(template="aa/ab", P=4).test_examples(rng(), np.zeros(0), 10_000)
    assert abs(y.mean()) < 4 / 100  # four standard errors


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"template": "aba"}, "must name two templates, such as aba/abb"),
        ({"template": "ab/aba/abb"}, "must name two templates"),
        ({"template": "ab/aba"}, "must have one length, and these have ab 2, aba 3"),
        ({"template": "/"}, "must have one length"),
        ({"template": "aab/bba"}, "both are one template, with its wildcards renamed"),
        ({"template": "aXa/bXb"}, "both are one template"),
        ({"template": "abc/abb", "P": 2}, "has 3 wildcards, and alphabet = 2 has too few tokens"),
        ({"template": "abc/abb", "test_alphabet": 2}, "has 3 wildcards, and test_alphabet = 2 has too few tokens"),
    ],
)
def test_what_cannot_be_is_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        Template(**{"P": 64, **keys})
