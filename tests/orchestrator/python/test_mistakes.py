"""Mistakes in Python: the words that a person gets, and what a notebook shows of them."""

import pytest

from analysis import Results
from orchestrator import Grid, GridError, ResultsError, SweepError, TaskError, forecast, run


@pytest.mark.parametrize("ask", [forecast, run, lambda grid, place: Results(place)])
def test_results_that_are_a_file(tmp_path, small_grid, ask):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ResultsError, match=f"^{file} is a file, and results are kept in a directory: name another place$"):
        ask(small_grid, file)
    assert file.read_text() == "mine"


def test_no_results_are_told_in_words_of_python(tmp_path):
    with pytest.raises(ResultsError, match=r"none: name it in Results\(\.\.\.\), or run a sweep first$"):
        Results(tmp_path / "none")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run({}, reslts="x"), r"^run\(\) has no argument 'reslts'; did you mean 'results'\? there are grid, results, "),
        (lambda: forecast({}, odrer="grid"), r"^forecast\(\) has no argument 'odrer'; did you mean 'order'\?"),
        (lambda: Results(result="x"), r"^Results\(\) has no argument 'result'; did you mean 'results'\? there are results$"),
        (
            lambda: Results.plot(object.__new__(Results), sweeps="x"),
            r"^Results\.plot\(\) has no argument 'sweeps'; did you mean 'sweep'\?",
        ),
    ],
)
def test_a_misspelled_argument(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("error", [GridError([]), ResultsError("no"), SweepError("no"), TaskError("no")])
def test_mistakes_are_shown_in_short(error):
    """The message stands below the lines of the user's code that led to it, here this file's."""

    def of_the_user():
        raise error

    with pytest.raises(type(error)):
        of_the_user()
    *lines, last = error._render_traceback_()
    assert last == f"{type(error).__name__}: {error}"
    assert lines[-1].startswith(__file__) and lines[-1].endswith(": raise error")


def test_frames_of_this_project_are_not_shown():
    with pytest.raises(GridError) as found:
        Grid.load({"sweep": "x", "grids": [{"task": "none"}]})
    first, *message = found.value._render_traceback_()
    assert first.endswith('Grid.load({"sweep": "x", "grids": [{"task": "none"}]})')
    assert message == [f"GridError: {found.value}"]


def test_the_cause_of_a_mistake_is_shown_in_full():
    with pytest.raises(SweepError) as found:
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError as error:
            raise SweepError("no") from error
    assert "ZeroDivisionError: division by zero" in found.value._render_traceback_()
