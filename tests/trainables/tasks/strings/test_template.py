"""Template tasks: strings are made as they say, tests show tokens that training never shows, and templates are distinct."""

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import chisquare

from trainables.tasks import SymbolicTemplate, Template
from trainables.tasks.strings.base import different


def rng(k=0):
    return np.random.default_rng(k)


def test_strings_have_the_equalities_of_their_template():
    task = Template(template="aXba/aXbb", P=20)
    assert (task.input_dim, task.n_tokens, task.n_train) == (4, 1 + 20 + 2 * 100, 20)
    for draw, tokens in (
        (task.train_examples, range(1, 21)), (task.test_examples, range(21, 121)), (task.validation_examples, range(121, 221)),
    ):  # fmt: skip
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
    assert set(x.ravel()) == set(range(5)) and task.n_tokens == 5 + 2 * 3


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


def test_majority_asks_whether_the_first_token_is_most_of_the_others():
    task = Template(template="majority", length=4, P=50)
    x, y = task.train_examples(rng(), task.draw_symbols(rng()), 400)
    assert ((x[:, 1:] == x[:, :1]).sum(1) > 2).tolist() == (y == 1).tolist()
    assert (task.input_dim, task.most_wildcards) == (5, 2)


def test_random_templates_are_those_of_the_symbols():
    task = Template(template="random", P=40, n_templates=3, n_regular=2)
    assert (task.length, task.n_wildcards, task.input_dim, task.n_tokens) == (5, 2, 5, 2 + 40 + 200)
    one, other = (task.draw_symbols(rng(k)) for k in range(2))
    assert (one != other).any()
    for symbols in (one, other):
        templates = {label: pattern for pattern, label in task.templates(symbols)}
        x, y = task.test_examples(rng(), symbols, 200)
        assert {np.float32(label) for label in templates} == set(y)
        for label, pattern in templates.items():
            of_template = x[y == np.float32(label)]
            for i, j in np.ndindex(5, 5):
                same = (of_template[:, i] == of_template[:, j]).all()
                assert same == (pattern[i] == pattern[j]) or len(of_template) == 0
                assert (of_template[:, i] < 2).all() == isinstance(pattern[i], str)


def test_keys_of_a_family_have_its_defaults():
    assert Template(template="random", P=4) == Template(
        template="random", P=4, length=5, n_templates=2, n_wildcards=2, n_regular=0
    )


def test_the_label_of_a_symbolic_template_is_a_token_of_the_string():
    task = SymbolicTemplate(template="aXb:a/bYa:b", P=30)
    x, y = task.test_examples(rng(), task.draw_symbols(rng()), 100)
    assert y.tolist() == x[:, 0].tolist() and task.n_outputs == task.n_tokens == 2 + 30 + 200
    copy = SymbolicTemplate(template="copy", P=30)
    x, y = copy.train_examples(rng(), copy.draw_symbols(rng()), 100)
    assert x[:, 0].tolist() == y.tolist()
    program = SymbolicTemplate(template="program", P=30)
    x, y = program.train_examples(rng(), program.draw_symbols(rng()), 100)
    assert np.where(x[:, 18] == x[:, 0], x[:, 3], x[:, 9]).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        (Template, {"template": "aba"}, "template aba: each template takes a label"),
        (Template, {"template": "ab/aba"}, "must have one length, and these have ab 2, aba 3"),
        (Template, {"template": "aab/bba"}, "aab is there twice: a template with its wildcards renamed is the same"),
        (Template, {"template": "majorty"}, "families are distribution_of_3, majority, match_to_sample, program, random"),
        (Template, {"template": "majority"}, "template majority takes length"),
        (Template, {"template": "majority", "length": 13}, "has more than 4096 templates"),
        (Template, {"template": "majority", "length": 64}, "has more than 4096 templates"),
        (Template, {"template": "XY:1/YX:-1"}, "has no wildcard"),
        (SymbolicTemplate, {"template": "XY:X/YX:Y"}, "has no wildcard"),
        (Template, {"template": "aa/ab", "length": 3}, "length belongs to template: majority or random"),
        (Template, {"template": "random", "length": 2, "n_templates": 3}, "there are 2 templates of length 2"),
        (Template, {"template": "abc/abb", "P": 2}, "has 3 wildcards, and alphabet = 2 has too few tokens"),
        (Template, {"template": "abc/abb", "test_alphabet": 2}, "has 3 wildcards, and test_alphabet = 2 has too few tokens"),
        (SymbolicTemplate, {"template": "aba/abb"}, "takes a label, as in aXb:a/aYb:b; families are copy, program, raven"),
        (SymbolicTemplate, {"template": "program", "P": 3}, "has 4 wildcards, and alphabet = 3"),
    ],
)
def test_what_cannot_be_is_refused(kind, keys, said):
    with pytest.raises(ValidationError, match=said):
        kind(**{"P": 64, **keys})
