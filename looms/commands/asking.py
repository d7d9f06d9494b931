"""Asking whoever sits at the terminal before something is lost."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from looms.commands.settings import UsageError


def agreed(question: str, otherwise: str) -> bool:
    """Ask a question that is answered with yes or no.

    While the answer is waited for a Ctrl-C ends the command at once: the event loop's own handler would only take note
    of it, and be heard after the next Enter.

    Args:
        question: what is asked.
        otherwise: what to say on the command line where nobody can be asked.

    Raises:
        UsageError: nobody is there to be asked.
        KeyboardInterrupt: a Ctrl-C, or the end of the input.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{otherwise}: nobody can be asked here")
    with _interrupts() as interrupted:
        while True:
            typer.echo(f"{question} [y/N]: ", err=True, nl=False)
            if interrupted in select.select([sys.stdin, interrupted], [], [])[0]:
                raise KeyboardInterrupt
            answer = sys.stdin.readline()
            if not answer:
                raise KeyboardInterrupt
            match answer.strip().lower():
                case "y" | "yes":
                    return True
                case "n" | "no" | "":
                    return False
            typer.echo("Say y or n.", err=True)


@contextmanager
def _interrupts() -> Iterator[int]:
    """What can be read from when there was a Ctrl-C, also one that came just before somebody waits.

    An exception out of the signal's handler would come too late for a read that begins in that moment.
    """
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    woken = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGINT, before)
        os.close(heard)
        os.close(told)
