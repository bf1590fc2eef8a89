"""Two users of one machine with one results directory, each under an umask that keeps their other files private."""

from pathlib import Path

import pytest

from tests.two_users import User, check_shared, make_shared, two_users

GRID = """
sweep: {name}
defaults: {{task: same_different, steps: 20, eval_every: 20, test_size: 64, batch: 8}}
grids:
  - {{L: {values}, d: 8, width: 16, gamma: 1, seed: 0}}
"""


def sweep(user: User, *words: str | Path) -> str:
    """Standard output and standard error of a command that this user types."""
    done = user.run("-m", "sweepkit.commands.main", *map(str, words))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def train(one: User, other: User, place: Path, *where: str) -> Path:
    """Results in which both have trained: what one finished is done for the other."""
    for name, values in (("few", "[3]"), ("more", "[3, 4]")):
        (place / f"{name}.yaml").write_text(GRID.format(name=name, values=values))
    results = make_shared(place / "results", one, 0o2770)
    sweep(one, "run", place / "few.yaml", "--results", results, *where)
    assert "1 in the store, 1 to train" in sweep(other, "run", place / "more.yaml", "--results", results, *where)
    check_shared(results, one.shared)
    return results


@pytest.mark.ray
def test_on_ray() -> None:
    with two_users() as users:
        train(*users)


def test_one_trains_on_and_merges_and_copies_what_the_other_wrote() -> None:
    with two_users() as (one, other, place):
        results = train(one, other, place, "--debug")
        copied = make_shared(place / "copied", one, 0o2770)
        assert "merged 2 files into 1" in sweep(other, "store", "compact", "--results", results, "--now")
        assert "copied 2 networks" in sweep(one, "store", "copy", "--results", results, "--to", copied)
        assert "copied 0 networks" in sweep(other, "store", "copy", "--results", results, "--to", copied)
        for folder in (results, copied):
            assert sweep(other, "query", "SELECT count(*) AS n FROM cells", "--results", folder).split() == ["n", "2"]
            assert " 0 bad, 0 stale" in sweep(one, "store", "check", "--results", folder)
            check_shared(folder, one.shared)


def test_a_directory_that_one_user_did_not_share_is_refused_before_training() -> None:
    """The root is shared and the folders in it are not, which older versions left behind."""
    with two_users() as (one, other, place):
        (place / "few.yaml").write_text(GRID.format(name="few", values="[3]"))
        (place / "more.yaml").write_text(GRID.format(name="more", values="[3, 4]"))
        results = make_shared(place / "results", one, 0o2770)
        sweep(one, "run", place / "few.yaml", "--results", results, "--debug")
        for folder in results.iterdir():
            folder.chmod(0o2750)
        done = other.run("-m", "sweepkit.commands.main", "run", str(place / "more.yaml"), "--results", str(results), "--debug")
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert f"which belongs to user {one.name}. To share these results with a group, that user types: chgrp -R" in done.stderr
        for file in (results / "packs").iterdir():
            file.chmod(0o600)
        done = other.run("-m", "sweepkit.commands.main", "query", "SELECT count(*) FROM cells", "--results", str(results))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"cannot read {results}/packs/" in done.stderr and done.stderr.rstrip().endswith("Permission denied")
