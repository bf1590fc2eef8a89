# make sweep   installs into .venv what is missing and runs the default grid
# make test    installs what is missing and runs the fast tests: 4 minutes on 2 cores
# make slow    the slow ones that .ci/run runs, too: 10 minutes
# make nightly   the rest: hosts, Slurm, full lengths, a campaign of faults, bad input by the thousand: an hour, and a table
# make durations   all tests, to renew what tests/durations.txt says of how long they take: an hour
# make evidence   trains what evidence/ lacks (some 12 hours on 2 cores, in parts if you like) and writes docs/verdicts.md
# make lint    format, lint, types and import rules
# make notebook   installs JupyterLab into .venv and opens examples/first_sweep.ipynb in it
# make docs    the documentation as a site, in site/
# make pictures   its figures and screenshots anew
# make wheel   dist/sweepkit-VERSION-py3-none-any.whl, which installs without this folder
# Another Python: make PYTHON=python3.12 sweep
PYTHON ?= $(shell for p in python3 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null && echo $$p && break; done)
PY := .venv/bin/python
# Where `make evidence` trains: make RESULTS=/scratch/results evidence
RESULTS ?= results
# Tests at once: make N=4 test
N ?= 2
# Some containers set this: each of a sweep's processes, and of the tests', would then compile all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE
RUN := PATH="$(CURDIR)/.venv/bin:$$PATH"

.PHONY: help sweep test slow nightly durations evidence lint notebook docs pictures wheel install lock clean
help:
	@sed -n 's/^# \(make\|Another\)/\1/p' Makefile

install: .venv/.installed

.venv/.installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or 3.12 found on PATH; name one: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@$(PY) -m uv --version >/dev/null 2>&1 || $(PY) -m pip install --quiet --disable-pip-version-check uv
	@echo "Installing into .venv (several GB the first time, mostly PyTorch) ..."
	@$(PY) -m uv pip install --quiet --python $(PY) -r requirements.lock
	@$(PY) -m uv pip uninstall --quiet --python $(PY) sweep-orchestrator 2>/dev/null; rm -rf sweep_orchestrator.egg-info  # its name before 0.2
	@$(PY) -m uv pip install --quiet --python $(PY) --no-deps -e .
	@touch $@

sweep: install
	@.venv/bin/sweep run grid.yaml
	@command -v sweep >/dev/null || echo "So that your shell finds the command sweep: . .venv/bin/activate"

# A worker that dies ends the run: pytest-xdist, asked to start another one, may wait for ever.
PYTEST := $(PY) -m pytest --max-worker-restart 0
test: install
	@$(PYTEST) -n $(N) --dist load

# One worker more than N: many of these tests wait for other processes.
slow: install
	@$(PYTEST) -m "slow and not nightly" -n $$(($(N) + 1)) --dist loadfile --no-loadscope-reorder

nightly: install
	@.ci/packages
	@$(PY) -m tests.nightly

durations: install
	-@$(PYTEST) -m "not alone" -n $(N) --dist loadfile --no-loadscope-reorder --keep-durations
	@$(PYTEST) -m alone --keep-durations

# Each sweep trains what neither evidence/ nor RESULTS has, and is kept as soon as it is done. Status 1, some networks failed, stops nothing.
evidence: install
	@$(PY) -m orchestrator.store copy --results evidence --to "$(RESULTS)"
	@set -f; sweeps=$$(SWEEP_STUDIES= $(PY) -m sweepkit.commands.study list --evidence) || exit; \
	printf '%s\n' "$$sweeps" | while read -r sweep; do \
		$(PY) -m orchestrator.sweep $$sweep --results "$(RESULTS)" </dev/null || [ $$? -eq 1 ] || exit; \
		$(PY) -m orchestrator.store copy --results "$(RESULTS)" --to evidence || exit; \
	done
	@$(PY) -m analysis.verdicts

lint: install
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) mypy studies/*/grids/*.py
	@$(RUN) lint-imports --config pyproject.toml

# The kernel `Python 3` is that of .venv. Results of the notebook go to examples/results.
notebook: install
	@$(PY) -c "import jupyterlab, ipykernel, matplotlib" 2>/dev/null || \
		$(PY) -m uv pip install --quiet --python $(PY) -r pyproject.toml --extra notebook
	@.venv/bin/jupyter lab $$(test "$$(id -u)" != 0 || echo --allow-root) examples/first_sweep.ipynb

# The site in site/. A link or anchor that leads nowhere is an error (--quiet would let it pass). The variable silences a note about MkDocs 2.
docs: install
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

wheel: install
	@rm -rf dist && $(PY) -m uv build --quiet --wheel --out-dir dist

# Figures and screenshots of the documentation, from evidence/ and a few sweeps in RESULTS; chromium must be on PATH.
pictures: install
	@$(PY) -m benchmarks.pictures --results "$(RESULTS)"

# The lock pins what `make` installs; run it after a change of dependencies in pyproject.toml.
lock:
	@$(PY) -m uv pip compile --universal --python-version 3.11 $(addprefix --extra ,all dev docs mlflow wandb tensorboard) \
		--no-header --no-annotate \
		--quiet pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
