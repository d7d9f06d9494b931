"""What stands in a store is shown, never obeyed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from looms.commands.moments import age, length, moment, size
from looms.commands.texts import compact, json_block, json_line, printable, word


@pytest.mark.parametrize(
    "hostile", ["\x1b[31mred", "\x07", "a\rb", "\x9b2J", "\u202egnp.exe", "\x00", "\ud800", "\x7f", "\u2028"]
)
def test_a_terminal_gets_no_commands_from_the_store(hostile: str) -> None:
    for shown in (printable(hostile), word(hostile).plain):
        assert all(character.isprintable() for character in shown)


@given(st.text())
def test_text_that_can_be_seen_is_left_as_it_is(text: str) -> None:
    seen = "".join(character for character in text if character.isprintable() and character != "\\")
    assert printable(seen) == seen


@given(st.text(), st.lists(st.text() | st.integers(-1000, 1000)))
def test_json_for_people_is_still_json(text: str, items: list[str | int]) -> None:
    for value in (text, items, {text: items}):
        for shown in (compact(value), json_line(value).plain, json_block(value, 30).plain):
            assert not any(c < " " and c != "\n" for c in shown)
            if printable(text) == text and all(printable(str(item)) == str(item) for item in items):
                assert msgspec.json.decode(shown) == value


def test_an_id_stays_on_its_line() -> None:
    assert word("two\nlines").plain == "two\\nlines"


def test_a_value_is_on_one_line_where_there_is_room() -> None:
    assert json_block({"a": [1, 2]}, 20).plain == '{"a": [1, 2]}'
    assert json_block({"a": [1, 2]}, 5).plain.splitlines() == ["{", '  "a": [', "    1,", "    2", "  ]", "}"]
    items = {"items": [{"n": 1, "of": []}, {"n": 2, "of": {}}]}
    assert json_block(items, 30).plain.splitlines() == [
        "{",
        '  "items": [',
        '    {"n": 1, "of": []},',
        '    {"n": 2, "of": {}}',
        "  ]",
        "}",
    ]


def test_json_that_is_nested_deeply_is_shown_all_the_same() -> None:
    deep: list[object] = []
    for _ in range(400):
        deep = [deep]
    assert json_block(deep, 10).plain.count("[") == 401


@pytest.mark.parametrize(
    ("millis", "said"),
    [
        (0, "now"),
        (999, "now"),
        (1_000, "1 s ago"),
        (59_999, "59 s ago"),
        (90_000, "1 min 30 s ago"),
        (60_000 * 5 + 3_000, "5 min ago"),
        (3_600_000, "1 h ago"),
        (86_400_000 * 2 + 3_600_000 * 5, "2 d 5 h ago"),
        (86_400_000 * 400, "400 d ago"),
        (-45_000, "in 45 s"),
        (-86_400_000 * 2_900_000, "in 2900000 d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(millis: int, said: str) -> None:
    assert age(10**15, 10**15 + millis) == said


def test_a_rough_age_is_told_in_one_unit() -> None:
    assert (age(0, 119_000, rough=True), age(0, 86_400_000 * 2 - 1, rough=True)) == ("1 min ago", "1 d ago")


def test_a_short_time_is_told_in_milliseconds() -> None:
    assert (length(250), length(1_500), length(0)) == ("250 ms", "1 s", "0 ms")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (812, "812 B"), (999, "999 B"), (1_000, "1.0 kB"), (4_210, "4.2 kB"), (99_960, "100 kB")],
)
def test_a_size_is_told_in_two_or_three_digits(count: int, said: str) -> None:
    assert size(count) == said
    assert (size(17 * 10**6), size(3 * 10**12)) == ("17.0 MB", "3.0 TB")


def test_a_moment_is_told_in_utc_up_to_the_year_9999() -> None:
    assert (moment(0), moment(253_402_300_799_999)) == ("1970-01-01 00:00:00 UTC", "9999-12-31 23:59:59 UTC")
