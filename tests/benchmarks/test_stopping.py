"""Being stopped: at once, or behind what must not be left half done."""

import os
import signal

import pytest

from benchmarks.stopping import Stopped, put_off, stoppable


def test_it_is_stopped_at_once_and_once() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # while things are put away: not heard

    with pytest.raises(Stopped) as stopped, stoppable():
        work()
    assert (stopped.value.signal, stopped.value.exit_code) == (signal.SIGTERM, 143)
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_is_put_off_is_heard_behind() -> None:
    done = []

    def work() -> None:
        with put_off():
            with put_off():
                os.kill(os.getpid(), signal.SIGHUP)
                done.append("inner")
            done.append("outer")
        done.append("behind")

    with pytest.raises(Stopped), stoppable():
        work()
    assert done == ["inner", "outer"]


def test_a_signal_that_is_ignored_outside_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
