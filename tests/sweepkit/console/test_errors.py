"""The line of a user's own code in an error."""

from pathlib import Path

from sweepkit.console.errors import own_line


def test_the_last_own_line_is_named_and_not_those_of_libraries(tmp_path: Path) -> None:
    file = tmp_path / "quad.py"
    file.write_text("import json\n\ndef apply():\n    return json.loads('{')\n")
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    try:
        names["apply"]()  # type: ignore[operator]
    except ValueError as error:
        assert own_line(error) == "quad.py:4"
    else:
        raise AssertionError("nothing was raised")


def test_an_error_of_the_project_alone_has_no_own_line() -> None:
    assert own_line(ValueError("never raised")) == ""
