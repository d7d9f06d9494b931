"""Asking whoever sits at the terminal before something is lost."""

import signal
import sys

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
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{otherwise}: nobody can be asked here")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:  # a Ctrl-C, or the end of the input
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)
