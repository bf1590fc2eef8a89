"""Fixtures for all tests."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in a worker: one core a pack
