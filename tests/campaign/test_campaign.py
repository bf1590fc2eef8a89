"""The campaign refuses bad words. `make nightly` runs a round of its kinds."""

import pytest

from tests.campaign.__main__ import main


@pytest.mark.parametrize("words", [["--fault", "earthquake"], ["--index", "3"], ["--count", "many"]])
def test_bad_words_are_refused(words, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "error:" in capsys.readouterr().err
