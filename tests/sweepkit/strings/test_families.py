import numpy as np
import pytest

from sweepkit.strings import families
from sweepkit.strings.families import Labelled
from sweepkit.strings.patterns import numbered, parsed, regular, wildcards


@pytest.mark.parametrize(
    ("family", "n", "length"),
    [("majority", 8, 4), ("program", 2, 17), ("symbolic_program", 2, 20), ("copy", 1, 1), ("raven", 37, 8), 
     ("match_to_sample", 40, 9), ("distribution_of_3", 144, 9)],
)  # fmt: skip
def test_it_has_as_many_templates_as_the_paper_says(family, n, length):
    found = families.majority(3) if family == "majority" else getattr(families, family)()
    assert len({numbered(pattern) for pattern, _ in found}) == len(found) == n
    assert {len(pattern) for pattern, _ in found} == {length}


def test_the_program_prints_the_value_of_the_variable_that_it_names():
    for pattern, label in families.symbolic_program():
        a, b, asked = pattern[0], pattern[6], pattern[18]
        assert asked in (a, b)
        assert label == pattern[3 if asked == a else 9]
    (one, plus), (other, minus) = families.program()
    assert (one[15] == one[0], plus) == (True, 1.0)
    assert (other[15] == other[4], minus) == (True, -1.0)
    assert regular([one]) == sorted(set("=1;-print()"))


def test_the_label_is_what_the_matrix_lacks():
    for (*shown, _), label in [((*pattern, None), label) for pattern, label in families.raven()]:
        rows = [shown[:3], shown[3:6], [*shown[6:], label]]
        assert all(len(set(row)) == len(set(rows[0])) for row in rows)
        assert len(set(rows[0])) == 1 or {*rows[0]} == {*rows[1]} == {*rows[2]}
    for pattern, label in families.distribution_of_3():
        assert {*pattern[3:5], pattern[5:][int(label) - 1]} == {0, 1, 2}


def test_the_sample_is_matched_by_one_of_two():
    for pattern, label in families.match_to_sample():
        sample, middle, last = (numbered(pattern[i : i + 3]) for i in (0, 3, 6))
        assert (sample == middle, sample == last) == (label == 1, label == -1)
        assert len(wildcards(pattern)) == sum(len(set(triple)) for triple in (sample, middle, last))


@pytest.mark.parametrize(("length", "share"), [(2, 0.25), (4, 5 / 16), (6, 22 / 64), (8, 93 / 256)])
def test_a_tie_is_no_majority(length, share):
    labels = [label for _, label in families.majority(length)]
    assert np.mean(np.array(labels) == 1) == share
    assert families.trivial_mse(families.majority(length)) == pytest.approx(4 * share * (1 - share))


def test_labels_are_written_beside_templates():
    assert families.written("aba/abb") == (Labelled((0, 1, 0), 1.0), Labelled((0, 1, 1), -1.0))
    assert families.written("aab:1/aba:0.5/abb:-1")[1] == Labelled((0, 1, 0), 0.5)
    assert families.written("bXa:a/bYa:b", symbolic=True) == (Labelled((0, "X", 1), 1), Labelled((0, "Y", 1), 0))


@pytest.mark.parametrize(
    ("text", "symbolic", "reason"),
    [
        ("aab/aba/abb", False, "each template takes a label, as in aab:1/aba:0/abb:-1"),
        ("aba", False, "each template takes a label"),
        ("aba:1/abb", False, "each template takes a label"),
        ("aba/abb", True, "each template takes a label, as in aXb:a"),
        ("aba:1:2/abb:1", False, "must be one number, and it is '1:2'"),
        ("aba:nan/abb:1", False, "must be finite"),
        ("aba:x/abb:1", False, "must be one number, and it is 'x'"),
        ("aba:c/abb:a", True, "must be one of its letters, and it is 'c'"),
        ("ab/abb", False, "must have one length, and these have ab 2, abb 3"),
        ("aab/bba", False, "bba is there twice".replace("bba", "aab")),
        ("/", False, "at least one letter"),
    ],
)
def test_bad_templates_are_refused(text, symbolic, reason):
    with pytest.raises(ValueError, match=reason):
        families.written(text, symbolic)


def test_drawn_templates_differ_and_have_unit_labels():
    found = families.drawn(np.random.default_rng(0), length=5, n_templates=12, n_wildcards=2, n_regular=1)
    labels = np.array([label for _, label in found])
    assert len({pattern for pattern, _ in found}) == 12
    assert labels.mean() == pytest.approx(0, abs=1e-12)
    assert families.trivial_mse(found) == pytest.approx(1)


@pytest.mark.parametrize(("length", "n_wildcards", "n_regular", "n"), [(3, 2, 0, 4), (3, 3, 0, 5), (2, 1, 1, 4), (2, 2, 1, 5)])
def test_templates_are_counted(length, n_wildcards, n_regular, n):
    assert families.n_patterns(length, n_wildcards, n_regular) == n
    letters = ["abc"[i] for i in range(n_wildcards)] + ["XYZ"[i] for i in range(n_regular)]
    every = {parsed("".join(letters[i] for i in index)) for index in np.ndindex(*(len(letters),) * length)}
    assert len(every) == n
    rng = np.random.default_rng(1)
    assert len(families.drawn(rng, length, n, n_wildcards, n_regular)) == n
    with pytest.raises(ValueError, match=f"there are {n} templates"):
        families.drawn(rng, length, n + 1, n_wildcards, n_regular)


def test_templates_too_rare_to_be_drawn_are_not_waited_for():
    # The template of six equal tokens has the probability 1e-10 among 203 templates over 100 wildcards.
    with pytest.raises(ValueError, match=r"203000 draws found .* of 203 templates of length 6 .*: ask for fewer"):
        families.drawn(np.random.default_rng(0), length=6, n_templates=203, n_wildcards=100, n_regular=0)


def test_each_template_is_as_likely_to_be_drawn():
    rng = np.random.default_rng(2)
    first = [families.drawn(rng, 2, 1, 2, 0)[0].pattern for _ in range(2000)]
    # aa and bb are one template, ab and ba another: each is half of the four strings.
    assert first.count((0, 0)) == pytest.approx(1000, abs=4 * np.sqrt(500))
