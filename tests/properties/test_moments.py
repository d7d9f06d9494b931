"""A moment is never told early, in whatever zone; a delay is never cut short."""

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from looms.reducers.moments import LAST, due_after, millis, moment
from tests.properties.laws import effort, holds

zones = st.one_of(
    st.sampled_from([UTC, *(ZoneInfo(name) for name in ("Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"))]),
    st.builds(lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-1439, 1439)),
)
first, last = datetime(1, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001 - the zone is added
moments = st.datetimes(first, last, timezones=zones, allow_imaginary=True)
instants = st.integers(0, LAST)
delays = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(-1e9, 1e9),
    st.integers(0, 10**7).map(lambda ms: ms / 1000),
)


@effort(quick=150, long=2_000)
def test_a_moment_is_told_in_the_first_millisecond_that_is_not_before_it(examples: int) -> None:
    @holds(examples, moments)
    def law(given: datetime) -> None:
        late = moment(millis(given)) - given.astimezone(UTC)
        assert timedelta(0) <= late < timedelta(milliseconds=1)


@effort(quick=150, long=2_000)
def test_a_moment_is_the_same_in_every_zone(examples: int) -> None:
    @holds(examples, moments, zones)
    def law(given: datetime, zone: timezone) -> None:
        assert millis(given.astimezone(zone)) == millis(given)


@effort(quick=200, long=2_000)
def test_a_millisecond_is_a_moment_and_back(examples: int) -> None:
    @holds(examples, instants)
    def law(at: int) -> None:
        assert millis(moment(at)) == at


@effort(quick=250, long=2_000)
def test_a_delay_is_over_in_the_first_millisecond_that_is_not_before_its_end(examples: int) -> None:
    @holds(examples, st.integers(0, 4 * 10**12), delays)
    def law(at: int, seconds: float) -> None:
        asked = max(Fraction(seconds) * 1000, Fraction(0))
        given = due_after(at, seconds) - at
        assert given >= asked - Fraction(1, 10**6)  # a nanosecond is below what a clock can tell
        assert given < asked + 1


@effort(quick=150, long=2_000)
def test_a_longer_delay_and_a_later_beginning_are_never_over_before(examples: int) -> None:
    @holds(examples, st.tuples(*[st.integers(0, 4 * 10**12)] * 2), st.tuples(delays, delays))
    def law(ats: tuple[int, int], seconds: tuple[float, float]) -> None:
        assert due_after(min(ats), min(seconds)) <= due_after(max(ats), max(seconds))


@effort(quick=200, long=2_000)
def test_so_many_milliseconds_are_so_many(examples: int) -> None:
    @holds(examples, st.integers(0, 10**9))
    def law(ms: int) -> None:
        assert due_after(0, ms / 1000) == ms
