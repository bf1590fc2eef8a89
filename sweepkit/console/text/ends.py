"""Line ends, which editors and git change without a word, and which are no part of what a text says."""

import re


def unified(text: bytes) -> bytes:
    """The text with the line ends of Unix, as Python and YAML read it: a digest of it is the same on every system."""
    return re.sub(rb"\r\n?", b"\n", text)
