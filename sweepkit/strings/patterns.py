"""Templates of strings [Boix23 Def. 1].

template   tokens, each a wildcard or a regular one: a string of the template has different tokens of an alphabet for its
           wildcards, and the regular tokens as they are
pattern    a template as a tuple: a wildcard is its number 0, 1, ..., in the order of first appearance; a regular token is its
           text
"""

from collections.abc import Iterable

Token = int | str
Pattern = tuple[Token, ...]


def parsed(text: str) -> Pattern:
    """A template written letter by letter: lower-case letters are wildcards, all else is regular. `aba` is (0, 1, 0)."""
    return numbered(tuple(ord(letter) if letter.islower() else letter for letter in text))


def spelled(pattern: Pattern) -> str:
    """The template letter by letter, wildcards as a, b, c, ...: (0, 1, 0) is `aba`."""
    return "".join(chr(ord("a") + token) if isinstance(token, int) else token for token in pattern)


def numbered(tokens: Pattern) -> Pattern:
    """The pattern with its wildcards numbered as they appear: equal for templates that make the same strings."""
    found = wildcards(tokens)
    return tuple(found.index(token) if isinstance(token, int) else token for token in tokens)


def wildcards(pattern: Pattern) -> list[int]:
    """The wildcards of a pattern, in the order of their first appearance."""
    return list(dict.fromkeys(token for token in pattern if isinstance(token, int)))


def regular(patterns: Iterable[Pattern]) -> list[str]:
    """The regular tokens of these patterns, sorted."""
    return sorted({token for pattern in patterns for token in pattern if isinstance(token, str)})
