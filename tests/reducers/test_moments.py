"""Moments with a zone become instants; without one they are refused, and so is what lies beyond the year 9999."""

import math
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from looms.reducers.moments import LAST, due_after, is_seconds, millis, moment

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3_600_000


def test_a_moment_is_counted_from_1970_in_utc() -> None:
    assert millis(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert millis(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert millis(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)) == -1_000
    assert moment(1_700_000_000_000) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(("microsecond", "ms"), [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2)])
def test_a_part_of_a_millisecond_is_rounded_up(microsecond: int, ms: int) -> None:
    assert millis(datetime(1970, 1, 1, 0, 0, 0, microsecond, tzinfo=UTC)) == ms


def test_the_hour_that_is_repeated_is_two_moments() -> None:
    first = datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    second = first.replace(fold=1)
    assert millis(first) == millis(datetime(2024, 10, 27, 0, 30, tzinfo=UTC))
    assert millis(second) == millis(first) + HOUR


def test_the_hour_that_is_skipped_is_told_by_the_offset_before_it_or_after_it() -> None:
    skipped = datetime(2024, 3, 31, 2, 30, tzinfo=BERLIN)
    assert millis(skipped) == millis(datetime(2024, 3, 31, 1, 30, tzinfo=UTC))
    assert millis(skipped.replace(fold=1)) == millis(datetime(2024, 3, 31, 0, 30, tzinfo=UTC))


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/New_York"])
def test_the_zone_of_the_process_means_nothing(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", zone)
        time.tzset()
        assert millis(datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)) == 1_729_989_000_000
        assert moment(0).isoformat() == "1970-01-01T00:00:00+00:00"
        with pytest.raises(ValueError, match="no time zone"):
            millis(datetime(2024, 1, 1))  # noqa: DTZ001
    time.tzset()


@pytest.mark.parametrize("given", [datetime(2024, 1, 1), datetime.max, datetime.min])  # noqa: DTZ001, DTZ901
def test_a_moment_without_a_zone_is_refused_and_named(given: datetime) -> None:
    with pytest.raises(ValueError, match="has no time zone, so it is no moment; give it one, as in") as caught:
        millis(given)
    assert repr(given) in str(caught.value)


class Nowhere(tzinfo):
    """A zone that does not say where it is."""

    def utcoffset(self, moment: datetime | None) -> None: ...
    def dst(self, moment: datetime | None) -> None: ...
    def tzname(self, moment: datetime | None) -> None: ...


def test_a_zone_that_says_nothing_is_none() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        millis(datetime(2024, 1, 1, tzinfo=Nowhere()))


@pytest.mark.parametrize("given", [5, "2024-01-01T00:00:00Z", date(2024, 1, 1), timedelta(1), None])
def test_what_is_no_moment_is_refused_and_named(given: Any) -> None:
    with pytest.raises(ValueError, match="is no moment; give a datetime with a time zone") as caught:
        millis(given)
    assert repr(given) in str(caught.value)


def test_the_last_moment_is_in_the_year_9999() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert millis(last) == LAST
    assert moment(LAST) == last
    beyond = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
    for given in (beyond, datetime.max.replace(tzinfo=UTC)):
        with pytest.raises(ValueError, match="9999") as caught:
            millis(given)
        assert repr(given) in str(caught.value)


# Delays


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (0, 0),
        (1, 1_000),
        (0.001, 1),
        (0.0005, 1),
        (0.07, 70),
        (0.29, 290),
        (1.1, 1_100),
        (1e-9, 1),
        (86_400 * 365, 31_536_000_000),
    ],
)
def test_a_delay_is_rounded_up_to_a_millisecond(seconds: float, ms: int) -> None:
    assert due_after(1_700_000_000_000, seconds) == 1_700_000_000_000 + ms


@pytest.mark.parametrize("seconds", [0, -1, -0.001, -1e300, -(10**400)])
def test_a_delay_that_is_zero_or_negative_is_due_at_once(seconds: float) -> None:
    assert due_after(1_000, seconds) == 1_000


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan, True, "5", None, Decimal(5)])
def test_what_is_no_number_of_seconds_is_refused_and_named(seconds: Any) -> None:
    assert not is_seconds(seconds)
    with pytest.raises(ValueError, match="no number of seconds") as caught:
        due_after(0, seconds)
    assert repr(seconds) in str(caught.value)


@pytest.mark.parametrize("seconds", [LAST // 1000 + 1, 1e12, 1e300, 1.7e308, 10**30, 10**400])
def test_a_delay_that_ends_after_the_year_9999_is_refused_and_named(seconds: float) -> None:
    with pytest.raises(ValueError, match="after the year 9999") as caught:
        due_after(1_700_000_000_000, seconds)
    assert repr(seconds) in str(caught.value)


def test_the_longest_delay_ends_in_the_last_millisecond() -> None:
    assert due_after(0, LAST / 1000) == LAST
    assert due_after(LAST, 0) == LAST
    with pytest.raises(ValueError, match="9999"):
        due_after(LAST, 0.001)
