"""The API without `await` is the API: whatever one of them can be asked, the other can, in the same words."""

import inspect
import re
from typing import Any, get_overloads

import pytest

import looms
from looms import (
    Reader,
    Run,
    RunReading,
    Runtime,
    Store,
    StoreReading,
    SyncReader,
    SyncRun,
    SyncRunReading,
    SyncRuntime,
    SyncStore,
    SyncStoreReading,
)

INNER = {"host", "code", "view", "next_commit", "looking"}  # how handles reach their store
OWN = {"close"}  # of what has no `async with`
PAIRS: list[tuple[type, type]] = [
    (Runtime, SyncRuntime),
    (Run, SyncRun),
    (RunReading, SyncRunReading),
    (Reader, SyncReader),
    (Store, SyncStore),
    (StoreReading, SyncStoreReading),
]
WORDS = {"AsyncIterator": "Iterator", **{one.__name__: other.__name__ for one, other in PAIRS}}


def surface(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def said(annotation: Any) -> str:
    """An annotation in the words of the API without `await`."""
    plain = re.sub(r"\b(\w+\.)+", "", inspect.formatannotation(annotation))
    return re.sub(r"\w+", lambda word: WORDS.get(word[0], word[0]), plain)


def signatures(function: Any) -> list[Any]:
    """What a function takes and answers, overload by overload."""
    found = [inspect.signature(one) for one in (*get_overloads(function), function)]
    return [
        (
            [(p.name, p.kind, p.default, said(p.annotation)) for p in one.parameters.values()],
            said(one.return_annotation),
        )
        for one in found
    ]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_each_method_is_there_without_await(one: type, other: type) -> None:
    missing = surface(one) - INNER - surface(other)
    assert not missing, f"add these to {other.__module__}.{other.__name__}, in looms/sync; each hands its call on"
    assert surface(other) - OWN - surface(one) == set()


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        (one, other, name)
        for one, other in PAIRS
        for name in sorted(surface(one) - INNER)
        if callable(getattr(one, name))
    ],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
def test_a_method_takes_and_answers_the_same(one: type, other: type, name: str) -> None:
    wanted, given = getattr(one, name), getattr(other, name)
    assert signatures(given) == signatures(wanted), f"{other.__name__}.{name} in looms/sync is not what it was"
    assert not inspect.iscoroutinefunction(given)
    assert f".{name}``" in (given.__doc__ or ""), "name the method whose documentation says all"


@pytest.mark.parametrize(("one", "other"), [(Runtime, looms.open), (Reader, looms.open_reader)])
def test_it_is_opened_with_the_same_options(one: type, other: Any) -> None:
    [(wanted, _)], [(given, _)] = signatures(one), signatures(other)
    assert [parameter for parameter in given if parameter[0] != "backend"] == wanted
