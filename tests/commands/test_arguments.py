"""A value that is no JSON is refused with the place of the mistake; an effect's id is taken apart from its end."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.commands.arguments import json_value, run_of
from looms.commands.settings import UsageError


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": }', 'invalid character at byte 6, where the arrow points: {"a": -->}'),
        ('{"a": 1', "it ends too early, after 7 bytes"),
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("{'a': 1}", "byte 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": 1} x', 'byte 9, where the arrow points: {"a": 1} -->x'),
    ],
)
def test_a_mistake_in_json_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        json_value(text, "--payload")
    assert str(error.value).startswith("--payload ")
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["{}", "null", "1e3", '"\\ud83d\\ude00"', '{"a": [1, {"b": null}]}'])
def test_json_is_given_on_as_it_is(text: str) -> None:
    assert json_value(text, "--payload") == text.encode()


@given(st.binary(max_size=30).filter(lambda data: data != b"-"))  # that one is for stdin
def test_whatever_bytes_come_they_are_json_or_a_usage_error(data: bytes) -> None:
    with contextlib.suppress(UsageError):
        msgspec.json.decode(json_value(data.decode(errors="surrogateescape"), "--payload"))


@pytest.mark.parametrize(("effect", "run"), [("o1:3:0", "o1"), ("a:b/c:12:1", "a:b/c"), (" :1:1", " ")])
def test_an_effect_belongs_to_the_run_before_its_last_two_numbers(effect: str, run: str) -> None:
    assert run_of(effect) == run


@pytest.mark.parametrize("effect", ["", "o1", "o1:3", ":3:0", "o1:3:x", "o1:-3:0", "o1:³:0"])
def test_what_is_no_effects_id_is_refused(effect: str) -> None:
    with pytest.raises(UsageError, match="RUN:SEQ:INDEX"):
        run_of(effect)
