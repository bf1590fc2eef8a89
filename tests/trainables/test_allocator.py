"""Memory of freed arrays is kept for the next ones, and given back when it is asked for."""

import subprocess
import sys

import pytest

from trainables.allocator import keep_freed

SCRIPT = """
import resource
import numpy as np
from trainables.allocator import give_back, keep_freed

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        np.ones(8_000_000)  # 64 MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = faults()
assert keep_freed()
faults()
kept, held = faults(), resident()
give_back()
print(first, kept, held - resident())
"""


def test_arrays_of_a_step_cost_no_new_pages():
    if not keep_freed():
        pytest.skip("another C library than glibc")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    first, kept, given = map(float, done.stdout.split())
    # An array of 64 MB has 15,625 pages of 4 kB, or 31 of 2 MB; one that is kept needs none.
    assert kept < first / 10
    assert given > 60
