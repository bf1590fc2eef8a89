"""A text as a user runs it: refused where files are missing, tokenized once, trained, and its perplexity asked for."""

import pytest

from sweepkit.declarations.metrics import METRICS
from sweepkit.store.views import connect, fetch
from tests.made_texts import made_text, made_tokenizer
from trainables.features.folders import DATA_DIR

GRID = """\
sweep: text
grids:
  - {task: text, corpus: [small, other], context: 8, identity_qk: [false, true], identity_vo: [false, true],
     zip: [[identity_qk, identity_vo]], depth: 2, heads: 2, head_dim: 8, embedding: 16, width: 64, steps: 20, eval_every: 10,
     batch: 4, test_size: 6, seed: {range: 2}, save: [curves, identity_qk_mean]}
"""


@pytest.fixture
def grid(tmp_path, monkeypatch):
    path = tmp_path / "text.yaml"
    path.write_text(GRID)
    monkeypatch.setenv(DATA_DIR, str(tmp_path / "data"))
    return path


def test_from_files_to_a_query(grid, sweep_here, results, tmp_path):
    made_tokenizer(tmp_path / "data" / "gpt2")
    made_text(tmp_path / "data" / "small")
    made_text(tmp_path / "data" / "other", seed=1)
    planned = sweep_here(grid, "--dry-run")
    assert planned.returncode == 0 and "tokens of " in planned.stderr and not (tmp_path / "data" / "tokens").exists()
    done = sweep_here(grid, "--debug")
    assert done.returncode == 0, done.stderr
    measured = f"""SELECT corpus, identity_qk, count(*), bool_and({METRICS["perplexity"].sql} BETWEEN 2 AND 270),
        bool_and((identity_qk_mean > 0) = identity_qk) FROM cells GROUP BY ALL ORDER BY ALL"""  # 262 words
    each = [(corpus, qk, 2, True, True) for corpus in ("other", "small") for qk in (False, True)]
    assert fetch(results, measured) == each
    assert not {"data_dir", "tokenizer_dir"} & {*connect(results).execute("SELECT * FROM cells").fetchdf().columns}
    again = sweep_here(grid, "--debug")
    assert "0 to train" in again.stderr and "making" not in again.stderr


def test_missing_files_are_told_and_nothing_starts(grid, sweep_here, tmp_path):
    done = sweep_here(grid, "--dry-run")
    assert done.returncode == 2 and done.stdout == ""
    first, *_ = done.stderr.splitlines()
    assert first.startswith(f"{grid}:3: task text refuses corpus = 'small'")
    assert f"{tmp_path}/data/small (in SWEEP_DATA_DIR) lacks the text: put there wiki.train.tokens" in first
