"""Whatever stands in a file: an import refuses it and leaves nothing, or a check finds nothing wrong with it."""

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from hypothesis import strategies as st

from looms import LoomsError, Runtime
from tests.looms.desk import MODULES, store
from tests.looms.test_importing import a_life, export
from tests.properties.laws import effort, holds

VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    3,
    2**31,
    2**53 + 1,
    2**64,
    1.5,
    "",
    "x",
    "root",
    "desk.desk",
    "desk.made",
    "looms.taken",
]
VALUES += ["start", "effect", "run", "suspended", "failed", [], {}, [None], {"a": 1}, {"$bytes": "AAE="}, "x" * 300]
FIELDS = (
    "cause",
    "sender",
    "thread",
    "key",
    "effect",
    "final",
    "kind",
    "due",
    "decisions",
    "satisfied",
    "number",
    "error",
)


@cache
def lines() -> list[Any]:
    """Runs in every state that there is, as lines."""

    async def live() -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            async with store(Path(folder) / "s.looms") as rt:
                await a_life(rt)
                await rt.run("runs").fork(at=4, run_id="fork")
                return [json.loads(line) for line in (await export(rt)).splitlines()]

    return anyio.run(live)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a value, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*place, name)
        yield from places(inner, (*place, name))


def spoiled(draw: Any) -> bytes:
    """A file in which something is another thing."""
    found = json.loads(json.dumps(lines()[:-1]))
    at = draw(st.integers(1, len(found) - 1))
    line = found[at]
    match draw(st.sampled_from(("set", "set", "set", "more", "less", "add", "drop", "twice"))):
        case "drop":
            del found[at]
        case "twice":
            found.insert(at, line)
        case "add":
            line[draw(st.sampled_from(FIELDS))] = draw(st.sampled_from(VALUES))
        case how:
            *way, last = draw(st.sampled_from(list(places(line))))
            for name in way:
                line = line[name]
            if how == "less":
                del line[last]
            elif how == "more" and type(line[last]) is int:
                line[last] += draw(st.sampled_from((-1_000, -1, 1, 1_000)))
            else:
                line[last] = draw(st.sampled_from(VALUES))
    data = b"".join(json.dumps(one).encode() + b"\n" for one in found)
    counts = [sum(one.get("line") == kind for one in found) for kind in ("run", "record")]
    end = {"line": "end", "runs": counts[0], "records": counts[1], "sha256": hashlib.sha256(data).hexdigest()}
    return data + json.dumps(end).encode() + b"\n"


@effort(60, 800)
def test_what_a_check_would_call_wrong_is_not_brought_in(examples: int) -> None:
    @holds(examples, st.data(), st.sampled_from(("hold", "redispatch")))
    def law(data: Any, effects: Any) -> None:
        file = spoiled(data.draw)

        async def brought() -> None:
            with tempfile.TemporaryDirectory() as folder:
                async with Runtime(Path(folder) / "s.looms", modules=MODULES, durability="relaxed") as rt:
                    try:
                        await rt.import_runs(io.BytesIO(file), effects=effects)
                    except LoomsError:
                        assert [one async for one in rt.runs()] == []
                    checked = await rt.check()
                    assert checked.ok, checked.findings

        anyio.run(brought)
