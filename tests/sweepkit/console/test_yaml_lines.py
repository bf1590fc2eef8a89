"""One reader for all YAML: what it takes, and what it refuses with file and line."""

import re
from pathlib import Path

import pytest

from sweepkit.console.yaml_lines import NotYamlError, read_yaml

ROOT = Path(__file__).parents[3]
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)


@pytest.fixture
def file(tmp_path: Path):
    def write(data: str | bytes) -> Path:
        path = tmp_path / "x.yaml"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1e-3", {"a": 0.001}),
        ("a: [yes, no, on, off, 1:30, 2026-11-28]", {"a": ["yes", "no", "on", "off", "1:30", "2026-11-28"]}),
        ("a: [true, 0600, 0x10, ~, .inf, '1']", {"a": [True, 600, 16, None, float("inf"), "1"]}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: *x", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}, "e": {"b": 1, "c": 2}}),
        ("a:\r\n  - |\r\n    two\r\n    lines\r\n", {"a": ["two\nlines\n"]}),
        ("\ufeffa: 1", {"a": 1}),
        ("", None),
    ],
)
def test_values(text, value, quick, file):
    assert read_yaml(file(text), quick=quick) == value


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("worker_ips: [1]\nb: 2\nworker_ips: [3]", ":3: key 'worker_ips' is given twice (first in line 1); keep one"),
        ("a:\n\t- 1", ":2: not YAML: while scanning for the next token found character '\\t' that cannot start any token"),
        ("a: 1\nb: \0", ":2: not a text file: it holds the character '\\x00'"),
        (b"a: 1\nb: \xff", ":2: not a text file in UTF-8"),
        ("a: 1".encode("utf-16"), ":1: not a text file in UTF-8"),
        ("a: &x [*x]", ":1: an alias (*name) stands inside the very thing it names"),
        ("a: *x", ":1: not YAML: found undefined alias 'x'"),
        ("a: [1", ":1: not YAML: the file ends, and what opens in line 1 is not closed"),
        ("a: !!python/object/apply:os.system [x]\nb: !!python/name:os.system x", ":2: cannot read 'x' as"),
        ("a: 1\n---\na: 2", ":2: not YAML: expected a single document in the stream but found another document"),
        (BOMB, ": its aliases (*name) stand for over 100,000 values"),
        (b"a: 1\n" * 300_000, ": is larger than 1 MB"),
    ],
)  # fmt: skip
def test_what_is_refused(text, said, quick, file):
    path = file(text)
    with pytest.raises(NotYamlError) as raised:
        read_yaml(path, quick=quick)
    assert f"{path}{said}" in str(raised.value)


@pytest.mark.parametrize(("text", "other"), [("yes", "True"), ("0600", "384"), ("1:30", "90"), ("1e-3", "'1e-3'")])
def test_what_another_program_would_read_otherwise_is_refused_where_one_reads_the_file(text, other, file):
    for line in (f"b: {text}", f"? {text}\n: b"):
        path = file(f"a: '{text}'\n{line}")
        assert read_yaml(path)
        with pytest.raises(NotYamlError) as raised:
            read_yaml(path, versions_agree=True)
        assert str(raised.value).startswith(f"{path}:2: some programs read {text} as {other}, others as ")


def test_no_other_module_reads_yaml():
    folders = [path.parent for path in ROOT.glob("*/__init__.py")]
    files = [*ROOT.glob("*.py"), *(file for folder in folders if folder.name != "tests" for file in folder.rglob("*.py"))]
    assert len(files) > 300
    found = [
        str(file.relative_to(ROOT)) for file in files if re.search(r"^\s*(import|from) yaml\b", file.read_text(), re.MULTILINE)
    ]
    assert found == ["sweepkit/console/yaml_lines.py"]
