"""What a function could do, read from its code: the globals and attributes that it names.

So a branch that no example reached is seen too. What it comes by otherwise is not: arguments, what a call returns.
"""

import dis
import os
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from looms.testing.impurities import Deed, impurity


def named(function: Callable[..., Any]) -> Iterator[Deed]:
    """The impure things that a function names, and the functions that it calls, as far as they are of its package."""
    package = (getattr(function, "__module__", "") or "").partition(".")[0]
    todo, seen = [function], set()
    while todo:
        one = _plain(todo.pop())
        if one is None or one.__code__ in seen:
            continue
        seen.add(one.__code__)
        for thing, _, code, line in things(one):
            deed = impurity(thing)
            if deed is not None:
                yield Deed(*deed, f"{os.path.basename(code.co_filename)}, line {line}")
            elif isinstance(thing, FunctionType) and (thing.__module__ or "").partition(".")[0] == package:
                todo.append(thing)


def things(function: FunctionType) -> Iterator[tuple[Any, str, CodeType, int]]:
    """What a function's code names: globals, what it closes over, and their attributes; with the name and the line."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for code in _codes(function.__code__):
        thing: Any = None
        line = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            line = instruction.positions.lineno or line if instruction.positions else line
            name = instruction.argval
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                builtins = function.__globals__.get("__builtins__", {})
                known = vars(builtins) if isinstance(builtins, ModuleType) else builtins
                thing = function.__globals__.get(name, known.get(name))
            elif instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in closed:
                try:
                    thing = closed[name].cell_contents
                except ValueError:
                    thing = None
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(thing, ModuleType | type):
                thing = getattr(thing, name, None)
            else:
                thing = thing if instruction.opname in ("CACHE", "EXTENDED_ARG") else None
                continue
            if thing is not None:
                yield thing, name, code, line


def stored(function: FunctionType) -> set[str]:
    """The globals that a function's code binds anew."""
    found = (one for code in _codes(function.__code__) for one in dis.get_instructions(code))
    return {one.argval for one in found if one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _plain(function: Any) -> FunctionType | None:
    function = getattr(function, "__func__", function)
    return function if isinstance(function, FunctionType) else None
