"""Text from the store, as a terminal may have it: stored bytes are data, also where they look like its commands."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from rich.highlighter import JSONHighlighter
from rich.text import Text

# Control characters, half surrogates, and what turns the direction of writing; not the joiners, which scripts need.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_highlighter = JSONHighlighter()


_OPTIONS = {
    "pass exists='return'": "say --exists return",
    "pass on_conflict='skip'": "say --on-conflict skip",
    "(rename, prefix, new_ids)": "(--rename, --run-id-prefix, --new-ids)",
    "choose another run_id": "choose another --run-id",
    "or read with a Reader": "or only look",
}


def as_options(message: str) -> str:
    """A message of the API in the words of the command line."""
    for spoken, typed in _OPTIONS.items():
        message = message.replace(spoken, typed)
    return message


def printable(text: str) -> str:
    """A text in which only what can be seen is left; the rest is written as in a Python literal."""
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def word(text: str, style: str = "") -> Text:
    """An id or a name, on one line."""
    return Text(printable(text).replace("\n", "\\n"), style)


def named(id: str) -> str:
    """An id in a sentence: as it is where that is clear, else as JSON."""
    return id if re.fullmatch(r"[\w.:/@+-]+", id) else compact(id)


def compact(value: Any) -> str:
    """Plain data as JSON on one line."""
    return printable(_spaced(msgspec.json.encode(value)))


def json_line(value: Any) -> Text:
    """Plain data as coloured JSON on one line."""
    return _coloured(compact(value))


def json_block(value: Any, width: int = 0) -> Text:
    """Plain data as coloured JSON in lines no wider than the width, where its values allow that.

    What fits on a line is not broken up, so that a list of small things reads as one thing a line.
    """
    try:
        return _coloured("\n".join(_lines(value, "", "", width)))
    except RecursionError:
        return json_line(value)


def _lines(value: Any, before: str, after: str, width: int) -> Iterator[str]:
    """The lines of a value between what stands before it on its first line and after it on its last."""
    line = f"{before}{compact(value)}{after}"
    if len(line) <= width or not value or not isinstance(value, dict | list | tuple):
        yield line
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    margin = " " * (len(before) - len(before.lstrip()))
    yield f"{before}{opening}"
    names = [f"{compact(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    items = list(value.values()) if isinstance(value, dict) else value
    for number, (name, item) in enumerate(zip(names, items, strict=True), start=1):
        yield from _lines(item, f"{margin}  {name}", "," * (number < len(names)), width)
    yield f"{margin}{closing}{after}"


def _coloured(line: str) -> Text:
    text = Text(line)
    _highlighter.highlight(text)
    return text


def _spaced(encoded: bytes) -> str:
    """JSON on one line with a blank after each colon and comma."""
    return msgspec.json.format(encoded, indent=0).decode()
