"""Text from the store, as a terminal may have it: stored bytes are data, also where they look like its commands."""

import re
from typing import Any

import msgspec
from rich.highlighter import JSONHighlighter
from rich.text import Text

# Control characters, half surrogates, and what turns the direction of writing; not the joiners, which scripts need.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_highlighter = JSONHighlighter()


def printable(text: str) -> str:
    """A text in which only what can be seen is left; the rest is written as in a Python literal."""
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def word(text: str, style: str = "") -> Text:
    """An id or a name, on one line."""
    return Text(printable(text).replace("\n", "\\n"), style)


def compact(value: Any) -> str:
    """Plain data as JSON on one line."""
    return printable(_spaced(msgspec.json.encode(value)))


def json_line(value: Any) -> Text:
    """Plain data as coloured JSON on one line."""
    return _coloured(compact(value))


def json_block(value: Any, width: int = 0) -> Text:
    """Plain data as coloured JSON: on one line if that is no wider than the width, else indented."""
    line = compact(value)
    if len(line) <= width:
        return _coloured(line)
    return _coloured(printable(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def _coloured(line: str) -> Text:
    text = Text(line)
    _highlighter.highlight(text)
    return text


def _spaced(encoded: bytes) -> str:
    """JSON on one line with a blank after each colon and comma."""
    return msgspec.json.format(encoded, indent=0).decode()
