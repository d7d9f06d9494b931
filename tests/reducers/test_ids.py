"""One rule for all ids that users choose."""

from enum import StrEnum
from typing import Any

import pytest

from looms.reducers.errors import InvalidInput
from looms.reducers.ids import checked_id


class Name(StrEnum):
    ADA = "ada"


@pytest.mark.parametrize("id", ["a", "x" * 255, "é" * 127, " ", "\0", "../x", "a:b/c", "\n", "🙂" * 63, "a\u0000b"])
def test_text_of_1_to_255_bytes_is_an_id(id: str) -> None:
    assert checked_id(id, "run id") == id


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        ("", "has 0 bytes"),
        ("x" * 256, "has 256 bytes"),
        ("é" * 128, "has 256 bytes"),
        ("🙂" * 64, "has 256 bytes"),
        ("\ud800", "cannot be encoded"),
        (5, "5 is a whole number"),
        (b"a", "b'a' is bytes"),
        (None, "None is nothing"),
        (True, "True is a truth value"),
        (["a"], "is of type list"),
        (Name.ADA, "is of type Name"),
    ],
)
def test_anything_else_is_refused_with_the_rule(id: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=r"run id .*an id is text of 1 to 255 bytes of UTF-8") as caught:
        checked_id(id, "run id")
    assert problem in str(caught.value)


def test_a_key_is_called_a_key() -> None:
    with pytest.raises(InvalidInput, match=r"^idempotency key 5 is a whole number; a key is text of 1 to 255 bytes of"):
        checked_id(5, "idempotency key")


def test_a_long_id_is_shortened_in_the_message() -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_id("x" * 100_000, "run id")
    assert len(str(caught.value)) < 200
