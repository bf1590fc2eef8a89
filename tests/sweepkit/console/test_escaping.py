"""Plain text on pages: as it was written, with its code."""

from sweepkit.console.escaping import as_html, escaped


def test_words_in_backticks_are_code_in_html_and_the_rest_is_text():
    assert as_html("set `save: <what>`, or a < b & c") == "set <code>save: &lt;what&gt;</code>, or a &lt; b &amp; c"
    assert as_html("one ` alone") == "one ` alone"


def test_code_stays_as_it_is_in_markdown():
    assert escaped("a*b in `a*b`") == r"a\*b in `a*b`"
