"""The faults of tests/mutants.yaml fit the code as it is."""

from collections import Counter

import pytest

from tests.mutants import AREAS, ROOT, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_a_fault_occurs_once_and_compiles(mutant):
    """`old` occurs once, the file still compiles with `new`, and the tests named as near exist."""
    compile(mutant.applied(ROOT), mutant.file, "exec")
    assert mutant.new != mutant.old and mutant.why
    assert mutant.near and all((ROOT / path.split("::")[0]).exists() for path in mutant.near)


def test_each_area_has_five_faults():
    """Names differ."""
    found = mutants()
    assert Counter(mutant.area for mutant in found) == dict.fromkeys(AREAS, 5)
    assert len({mutant.name for mutant in found}) == len(found)
