"""Programs that use the API without `await`: how they end, are interrupted, and fork."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import looms
from tests.house.repository import REPOSITORY
from tests.looms.shop import MODULES

BEGIN = """
import contextlib, os, signal, sys, threading, time
import looms
from tests.looms.shop import MODULES, OPEN, Closed, Paid, till
path = sys.argv[1]

noticed = threading.Event()

def interrupt():
    "Ctrl-C as soon as the main thread waits for an answer; again, where it had looked for signals just before that."
    main = threading.main_thread().ident
    def waits(frame):
        return frame is not None and (frame.f_code.co_name == "answer" or waits(frame.f_back))
    def look():
        while not waits(sys._current_frames()[main]):
            time.sleep(0.001)
        while not noticed.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            noticed.wait(2)
    threading.Thread(target=look, daemon=True).start()
"""


def ran(code: str, path: Path) -> tuple[str, str, int]:
    """What a program says and how it ends; that it ends is half of what is tested here."""
    command = [sys.executable, "-c", BEGIN + code, str(path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.exit()",
        "raise SystemExit(0)",
        "threading.Thread(target=waiting, args=[run.result], daemon=True).start()",
        "threading.Thread(target=waiting, args=[lambda: list(run.events(follow=True))], daemon=True).start()",
    ],
)
def test_a_program_that_forgets_to_close_ends_all_the_same(end: str, path: Path) -> None:
    code = """
runtime = looms.open(path, modules=MODULES)
run = runtime.start(till, OPEN, run_id="t1")
run.signal(Paid(5))
def waiting(call):
    with contextlib.suppress(looms.RuntimeClosed):
        call()
"""
    assert ran(code + end, path) == ("", "", 0)
    with looms.open(path, modules=MODULES) as runtime:
        assert runtime.run("t1").state().total == 5


def test_a_thread_that_waits_at_the_end_is_told(path: Path) -> None:
    code = """
runtime = looms.open(path, modules=MODULES)
run = runtime.start(till, OPEN, run_id="t1")
def wait():
    try:
        run.result()
    except looms.RuntimeClosed as error:
        print(type(error).__name__)
threading.Thread(target=wait).start()
"""
    assert ran(code, path) == ("RuntimeClosed\n", "", 0)


@pytest.mark.parametrize("waiting", ["run.result()", "list(run.events(after=1, follow=True))"])
def test_ctrl_c_while_waiting_leaves_it_usable_and_closes_cleanly(waiting: str, path: Path) -> None:
    code = f"""
with looms.open(path, modules=MODULES) as runtime:
    run = runtime.start(till, OPEN, run_id="t1")
    try:
        interrupt()
        {waiting}
    except KeyboardInterrupt:
        noticed.set()
        print(run.signal(Paid(5)).seq, run.state().total)
"""
    assert ran(code, path) == ("2 5\n", "", 0)


def test_ctrl_c_that_nobody_catches_closes_it(path: Path) -> None:
    code = """
with looms.open(path, modules=MODULES) as runtime:
    run = runtime.start(till, OPEN, run_id="t1")
    interrupt()
    run.result()
"""
    _, failed, ended = ran(code, path)
    assert failed.endswith("KeyboardInterrupt\n")
    assert ended == -signal.SIGINT
    with looms.open(path, modules=MODULES) as runtime:
        assert [run.run_id for run in runtime.runs()] == ["t1"]


def test_what_is_followed_is_over_after_a_ctrl_c_and_can_be_taken_up_again(path: Path) -> None:
    code = """
with looms.open(path, modules=MODULES) as runtime:
    run = runtime.start(till, OPEN, run_id="t1")
    records = run.events(follow=True)
    next(records)
    try:
        interrupt()
        next(records)
    except KeyboardInterrupt:
        noticed.set()
        for n in range(3):
            run.signal(Paid(n))
        run.signal(Closed())
    print(list(records), [record.seq for record in run.events(after=1, follow=True)])
"""
    assert ran(code, path) == ("[] [2, 3, 4, 5]\n", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused_at_once_and_may_open_a_store_of_its_own(path: Path) -> None:
    code = """
runtime = looms.open(path, modules=MODULES)
run = runtime.start(till, OPEN, run_id="t1")
child = os.fork()
if child == 0:
    for call in (run.state, lambda: list(run.events()), lambda: list(runtime.runs())):
        try:
            call()
        except looms.RuntimeClosed as error:
            print("forked from" in str(error), flush=True)
    runtime.close()
    mine = looms.open(path + ".child", modules=MODULES)
    print(mine.start(till, OPEN, run_id="c1").signal(Paid(1)).seq, flush=True)
    sys.exit()  # without closing
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), run.signal(Paid(1)).seq)
"""
    assert ran(code, path) == ("True\nTrue\nTrue\n2\n0 2\n", "", 0)


def test_what_is_let_go_unclosed_is_told_and_closed_at_the_end(tmp_path: Path) -> None:
    program = tmp_path / "forgetful.py"
    program.write_text(
        "import gc, looms\n"
        "builtin = open\n"
        "from looms import *\n"
        "assert open is builtin\n"
        "module = Module('m')\n"
        "looms.open('a.looms', modules=[module])\n"
        "gc.collect()\n"
        "try:\n"
        "    looms.open('a.looms', modules=[module])\n"
        "except StoreInUse as error:\n"
        "    print(error)\n"
        "kept = looms.open('b.looms', modules=[module])\n"
        "with looms.open('c.looms', modules=[module]):\n"
        "    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", program], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True
    )
    assert "by this process (pid" in done.stdout
    assert "which has opened it already and not closed it" in done.stdout
    assert done.stderr.count("ResourceWarning: the runtime on a.looms was not closed") == 1
    assert done.stderr.count("ResourceWarning: the runtime on b.looms was not closed") == 1
    assert "c.looms" not in done.stderr
