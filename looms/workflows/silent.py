"""Putting coroutines away without running any more of their code.

A coroutine that is dropped while it waits gets ``GeneratorExit`` at its await, and runs its ``except`` and ``finally``
blocks. For a workflow that would be wrong: it is not over, it only leaves the memory, and will be rebuilt and go on.
The same holds for what it is in the midst of: generators, and the context managers that are made of them.

CPython calls an object's finalizer once (PEP 442), and that is what raises ``GeneratorExit``; what is marked as
finalized is just freed. So what waits is marked. ``gc.is_finalized`` reads the mark, and tells whether it was set. An
interpreter that does not let itself be told (another one than CPython, or one without its lock, where objects are laid
out otherwise) keeps what waits until the process ends.
"""

import contextlib
import ctypes
import gc
import itertools
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MethodType
from typing import Any

_MARKABLE = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
_FINALIZED = 1  # in the second word of what the collector keeps in front of each object
_WORD = ctypes.sizeof(ctypes.c_size_t)

_RUNNING: frozenset[type] = frozenset([GeneratorType, CoroutineType, AsyncGeneratorType])
_MANAGERS = frozenset([contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager])
_STACKS = frozenset([contextlib.ExitStack, contextlib.AsyncExitStack, contextlib.closing, contextlib.aclosing])

_FOLLOWED = _RUNNING | _MANAGERS | _STACKS | {enumerate, zip, map, filter}
_FOLLOWED |= {one for one in vars(itertools).values() if isinstance(one, type)}
_FOLLOWED |= {MethodType}  # a `with` holds the `__exit__` of its context manager
"""What a frame is in the midst of, or holds that in."""

_INSIDE = _FOLLOWED | {dict, deque, tuple}  # where the objects of these classes keep it


def silence(coroutine: Any) -> None:
    """Have a suspended coroutine, and what it is in the midst of, run no more of its code when it is dropped.

    It can be sent into and thrown into as before.
    """
    todo, seen = [coroutine], {id(coroutine)}
    while todo:
        one = todo.pop()
        running = type(one) in _RUNNING
        if running and not gc.is_finalized(one):
            _mark(one)
        followed = _FOLLOWED if running else _INSIDE
        for held in gc.get_referents(one):
            if type(held) in followed and id(held) not in seen:
                seen.add(id(held))
                todo.append(held)


@contextlib.contextmanager
def silent_generators() -> Iterator[None]:
    """Have asynchronous generators that begin in this context run no more of their code when they are dropped."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=lambda _: None, finalizer=lambda _: None)
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _mark(one: Any) -> None:
    if _MARKABLE and gc.is_tracked(one):
        ctypes.c_size_t.from_address(id(one) - _WORD).value |= _FINALIZED
    if not gc.is_finalized(one):
        _keep(one)


_kept: dict[int, Any] = {}


def _keep(one: Any) -> None:
    """Keep an object for ever: at the end of the process it would be finalized with the module that holds it."""
    if id(one) not in _kept:
        _kept[id(one)] = one
        if sys.implementation.name == "cpython":
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))
