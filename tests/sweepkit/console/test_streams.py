"""Standard streams that are closed, full, or take few characters: a command works all the same, and says what was lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAYS = "print('out'); print('err', file=sys.stderr)"
OUT_CLOSED, ERR_CLOSED = (f"standard {name} is closed: what belongs there is lost\n" for name in ("output", "error"))
OUT_FULL, ERR_FULL = (
    f"standard {name} cannot be written (No space left on device): what belongs there is lost\n" for name in ("output", "error")
)


def ran(code: str, redirected: str = "", before: str = "", **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command that does this, with redirections of a shell."""
    script = f"import sys\n{before}\nfrom sweepkit.console.streams import *\nrun_and_leave(lambda: exec({code!r}))"
    words = ["bash", "-o", "pipefail", "-c", f'"$0" -c "$1" {redirected}', sys.executable, script]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirected", "out", "err"),
    [
        ("", "out\n", "err\n"),
        ("<&-", "out\n", "err\n"),
        (">&-", "", f"err\n{OUT_CLOSED}"),
        ("2>&-", f"out\n{ERR_CLOSED}", ""),
        (">&- 2>&- <&-", "", ""),
        (">/dev/full", "", f"err\n{OUT_FULL}"),
        ("2>/dev/full", f"out\n{ERR_FULL}", ""),
        (">/dev/full 2>&1", "", ""),
    ],
)
@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_the_exit_code_is_that_of_the_work_and_a_line_says_what_is_lost(redirected, out, err, code):
    assert ran(f"{SAYS}; sys.exit({code})", redirected) == (code, out, err)


def test_a_pipe_that_nobody_reads_ends_no_work(tmp_path):
    gone = "import select; seen = select.poll(); seen.register(1, select.POLLERR); seen.poll(60_000)"  # until the reader has gone
    work = f"{gone}; {SAYS}; open({str(tmp_path / 'kept')!r}, 'w').write('x')"
    code, _, err = ran(work, "| true")
    assert code == 0 and (tmp_path / "kept").read_text() == "x"
    assert err == "err\nstandard output cannot be written (Broken pipe): what belongs there is lost\n"


@pytest.mark.parametrize("command", ["plan x.yaml", "query 'SELECT 1'", "store status", "figure curve", "report"])
def test_a_working_directory_that_was_deleted_is_a_line(tmp_path, command):
    script = f'mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && "$0" -m sweepkit.commands.main {command}'
    words = ["bash", "-c", script, sys.executable, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    said = "the current directory was deleted; go to another one (`cd`), and start it again\n"
    assert (done.returncode, done.stdout, done.stderr.splitlines(keepends=True)[-1:]) == (2, "", [said])


@pytest.mark.parametrize("redirected", [">&-", ">/dev/full"])
def test_an_answer_that_is_lost_is_no_success(redirected):
    assert ran(f"answers(); {SAYS}", redirected)[0] == 1
    assert ran("answers()", redirected) == (0, "", "")  # nothing was to be said
    assert ran(f"sys.argv.append('--json'); {SAYS}", redirected)[0] == 1


def test_no_line_gets_into_what_a_program_reads():
    assert ran(f"answers(); {SAYS}", "2>&-") == (0, "out\n", "")
    assert ran("answers(); sys.exit('why')", "2>&-") == (1, ERR_CLOSED, "")


@pytest.mark.parametrize("redirected", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_no_file_gets_the_number_of_a_closed_stream(redirected, tmp_path):
    kept = tmp_path / "kept"
    work = f"""
with open({str(kept)!r}, 'w') as file:
    import os, subprocess
    assert file.fileno() > 2
    os.write(1, b'a library prints'), os.write(2, b'a library prints')
    assert os.read(0, 1) in (b'', b'x')
    subprocess.run([sys.executable, '-c', 'import os; os.write(1, b"x"); os.write(2, b"x"); os.read(0, 1)'], check=True)
"""
    assert ran(work, redirected)[0] == 0
    assert kept.read_text() == ""


def test_a_process_without_streams_of_python_has_them():
    before = "sys.stdin = sys.stdout = sys.stderr = None"
    assert ran(f"assert sys.stdin.fileno() == 0; {SAYS}", before=before) == (0, "out\n", "err\n")


def test_what_an_encoding_lacks_is_written_as_its_number():
    assert ran(r"print('\u2265 \ud800')", PYTHONIOENCODING="ascii") == (0, "\\u2265 \\ud800\n", "")
    assert ran(r"print('\u2265')", LC_ALL="C")[:2] == (0, "≥\n")  # Python takes C for UTF-8


@pytest.mark.parametrize("name", ["sweep", "plan_app"])
def test_a_sweep_with_streams_closed_keeps_what_it_trained(name, tmp_path):
    (tmp_path / "mini.yaml").write_text(
        "defaults: {steps: 100, eval_every: 50, width: 8, batch: 16, test_size: 32}\n"
        "grids: [{task: same_different, L: 3, d: 4, gamma: 1, seed: 0}]"
    )
    words = f"{sys.executable} -m orchestrator.sweep {'--dry-run' if name == 'plan_app' else ''} mini.yaml --debug >&- 2>&- <&-"
    done = subprocess.run(["bash", "-c", words], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0
    assert len([*tmp_path.glob("results/packs/**/*.parquet")]) == (name == "sweep")
