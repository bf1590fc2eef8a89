"""The process of a worker while it has a pack."""

from threadpoolctl import threadpool_info, threadpool_limits

from orchestrator.grid.load import load_grid
from orchestrator.running.worker import PackWork


def test_every_library_has_the_threads_of_the_pack(tmp_path):
    grid = tmp_path / "grid.yaml"
    grid.write_text("sweep: s\ngrids: [{task: same_different, L: 3, d: 8, width: 16, gamma: 1, seed: 0, steps: 1000}]\n")
    with threadpool_limits(2):
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
        PackWork("p", load_grid(grid).cells, "reference", "cpu", threads=1)
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
