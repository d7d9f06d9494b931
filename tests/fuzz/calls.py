"""What a caller's code gives, and what other processes ask for: events, matches, ids, moments, options, requests."""

import io
import os
from contextlib import suppress
from datetime import datetime
from typing import Any

import anyio
import msgspec

import looms
from looms import Retry, sleep, wait
from looms.actors import requests as asked
from looms.actors.doorbell import ring
from looms.driving import reply_of
from looms.import_reading import Lines
from looms.importing import Wanted
from looms.importing import requests as brought
from looms.reducers.errors import LoomsError
from looms.reducers.moments import due_after, millis
from looms.reducers.registry import Registry
from looms.snapshots import requests
from looms.snapshots.environment import Environment
from tests.fuzz.bench import bench
from tests.fuzz.desk import Moved, Told, Typed, at_desk, modules, parked
from tests.fuzz.given import encode, kinds, value_of
from tests.fuzz.harness import EntryPoint, Finding

CODE = Registry(modules)
_TYPED = {
    "text": "b",
    "number": 2,
    "part": 1.5,
    "data": b"x",
    "at": "2026-01-01T00:00:00Z",
    "day": "2026-01-01",
    "length": "PT1S",
    "price": "1.5",
    "id": "00000000-0000-0000-0000-000000000001",
    "mood": "good",
    "items": [1, 2],
    "names": ["a"],
    "table": {1: ["a"]},
    "node": {"name": "n", "inside": {"name": "m"}},
}
_JSON_TYPED = {**_TYPED, "data": "eA==", "table": {"1": ["a"]}}


def _digest() -> str:
    return bench().digest()


def _reset() -> None:
    bench().reset()


def _at_bench(name: str, form: Any, examples: Any, take: Any, **more: Any) -> EntryPoint:
    return EntryPoint(name, form, examples, take, digest=_digest, reset=_reset, **more)


def _event(data: bytes) -> None:
    """An event that the caller's code makes: msgspec looks at nothing then."""
    given = value_of(data)
    fields = given if isinstance(given, dict) and all(isinstance(key, str) for key in given) else {"what": given}
    event: Any
    if "what" in fields:
        event = Told(fields["what"])
    else:
        known = {key: value for key, value in fields.items() if key in Typed.__struct_fields__}
        event = Typed(**known) if known else given
    run = bench().runtime.run("one")
    how = len(data) % 3
    if how == 0:
        bench().call(run.signal, Moved(to="x"), event)
    elif how == 1:
        bench().call(bench().runtime.publish, event, retain=60)
    else:
        bench().call(bench().runtime.run("not there").signal, event, retain=60)


def _events() -> list[bytes]:
    typed = [encode({"number": 1, name: value}) for name, value in _TYPED.items()]
    return [*kinds(), encode(_TYPED), *typed, *(encode({"what": {"make": value_of(one)}}) for one in [encode(1)])]


def _plain(data: bytes) -> None:
    """An event by its name, from plain data."""
    given = value_of(data)
    name, payload = given if isinstance(given, list) and len(given) == 2 else ("desk.typed", given)
    event = bench().runtime.event(name, payload)
    bench().call(bench().runtime.run("one").signal, event)


def _input(data: bytes) -> None:
    bench().call(bench().runtime.start, at_desk if len(data) % 2 else parked, value_of(data))


def _match(data: bytes) -> None:
    """A match, and what becomes of a run that waits for it."""
    given = value_of(data)
    wait(Typed, match=given)
    wait(Typed, Told, match=given)
    bench().call(bench().runtime.start, parked, given)
    bench().call(bench().runtime.publish, Typed())


def _ids(data: bytes) -> None:
    """Ids wherever one is taken."""
    given = value_of(data)
    runtime = bench().runtime
    match len(data) % 7:
        case 0:
            bench().call(runtime.start, at_desk, run_id=given)
        case 1:
            bench().call(runtime.run("one").signal, Told(1), key=given)
        case 2:
            bench().call(runtime.publish, Told(1), key=given, retain=60)
        case 3:
            bench().call(runtime.run(given).inspect)
        case 4:
            bench().call(runtime.run("one").fork, 3, given)
        case 5:
            wait(Typed, id=given, timeout=1)
            looms.cancel(given)
            looms.spawn(at_desk, id=given)
            looms.signal(given, Told(1))
            wait(Typed, group=given, timeout=1)
        case _:
            bench().call(runtime.run("one").settle_effect, given, Told(1))
    if not isinstance(given, str) and given is not None:
        raise Finding(f"{given!r} passed for an id")


def _numbers(data: bytes) -> None:
    """Times, ages, places and sizes wherever one is taken."""
    given = value_of(data)
    runtime, run = bench().runtime, bench().runtime.run("one")
    match len(data) % 10:
        case 0:
            bench().call(runtime.publish, Told(1), retain=given)
        case 1:
            bench().call(run.signal, Told(1), retain=given)
        case 2:
            bench().call(run.cancel, "so", grace=given)
        case 3:
            bench().call(run.replay_to, given)
        case 4:
            bench().call(run.fork, given)
        case 5:
            bench().call(runtime.prune, finished_older=given)
        case 6:
            bench().call(runtime.prune, snapshots_older=given, keep_every=given)
        case 7:
            bench().call(run.snapshot, given)
        case 8:
            bench().call(run.diff, given, 2)
        case _:
            bench().call(run.cancel, given, grace=0)


def _moments(data: bytes) -> None:
    """Moments and lengths of time, as reducers and modules give them."""
    given: Any = value_of(data)
    match len(data) % 6:
        case 0:
            wait(Typed, timeout=given)
        case 1:
            sleep(given)
        case 2:
            wait(Typed, deadline=given)
        case 3:
            sleep(until=given)
        case 4:
            due_after(1_767_225_600_000, given)
            if isinstance(given, datetime):
                millis(given)
        case _:
            Retry(attempts=given, backoff=given)
            looms.Retention(finished=given)


def _look(data: bytes) -> None:
    """Options of what looks, exports and imports."""
    given: Any = value_of(data)
    runtime = bench().runtime

    async def listed() -> None:
        async for _ in runtime.runs(status=given):
            pass

    async def chosen() -> None:
        async for _ in runtime.runs(definition=given, limit=given):
            pass

    async def events() -> None:
        async for _ in runtime.run("one").events(given, to=given):
            pass

    async def commits() -> None:
        async for _ in runtime.commits(after=given):
            pass

    calls: list[Any] = [listed, chosen, events, commits]
    calls += [
        lambda: runtime.export_runs(io.BytesIO(), given),
        lambda: runtime.export_runs(io.BytesIO(), definition=given),
        lambda: runtime.export_runs(io.BytesIO(), status=given),
        lambda: runtime.import_runs(io.BytesIO(), rename=given),
        lambda: runtime.import_runs(io.BytesIO(), prefix=given),
        lambda: runtime.import_runs(io.BytesIO(), effects=given, on_conflict=given),
        lambda: runtime.stats(top=given),
        lambda: runtime.check(given),
        lambda: runtime.verify(given),
        lambda: runtime.signal_many(given),
    ]
    bench().call(calls[len(data) % len(calls)])


def _payload(data: bytes) -> None:
    """A payload as JSON, as another process sends it."""
    kind = CODE.event_named(("desk.told", "desk.typed", "desk.moved")[len(data) % 3])
    bench().call(bench().runtime.run("one").signal, kind.from_json(data))


def _stored_payload(data: bytes) -> None:
    """A payload of a record, as some version wrote it."""
    for name, version in (("desk.told", 1), ("desk.typed", 1), ("desk.moved", 1), ("desk.moved", 2), ("desk.moved", 3)):
        kind = CODE.event_named(name)
        try:
            kind.unpack(data, version)
            kind.current(data, version)
        except LoomsError:
            if name == "desk.moved" and version == 1:
                raise


def _request(data: bytes) -> None:
    """What another process asks of the host, which may be of another version."""
    id = os.urandom(requests.ID)
    environment = Environment(bench().path)
    try:
        requests.ask(environment, id, data)
        try:
            answer = bench().call(_answered, environment, id)
        finally:
            requests.take_back(environment, id)
    finally:
        environment.close()
    try:
        reply_of(answer)
    except LoomsError as error:
        if type(error) is LoomsError:
            raise Finding(f"an error that nobody foresaw: {error}") from error
        raise


async def _answered(environment: Environment, id: bytes) -> bytes:
    """The answer of the host, which is rung for as any other process would."""
    while True:
        with suppress(OSError):  # it has begun just now
            async with ring(environment.path) as bell:
                while True:
                    with environment.view() as view:
                        answer = requests.answered(view, id)
                    if answer is not None:
                        return answer
                    if not await bell.rings():
                        break
        await anyio.sleep(0.002)


def _requests() -> list[bytes]:
    json = msgspec.json.encode
    return [
        asked.pack_request(one)
        for one in (
            asked.StartRun("desk.desk", json({"a": 1}), "new", "error"),
            asked.SignalRun("one", "desk.told", json({"what": 1}), "key", 5.0),
            asked.PublishEvent("desk.typed", json(_JSON_TYPED), "key", 5.0),
            asked.CancelRun("one", "so", 1.0),
            asked.ResumeRun("one"),
            asked.DeleteRun("over"),
            asked.DeleteRun("one", True),
            asked.DeleteEnded([1, 2, 3]),
            asked.ThinSnapshots(1, 2_000_000_000_000, 3),
            asked.UntilRemoved(),
            asked.DropImport(1),
            asked.ForkRun("one", 3, "fork", "hold"),
            asked.RetryEffect("one", "one:1:0"),
            asked.SettleEffect("one", "one:1:0", "desk.made", json({"what": 1})),
            *_imports(),
        )
    ]


def _imports() -> list[asked.ImportRuns]:
    """What an import asks, of what the bench exports."""
    file = io.BytesIO()
    bench().call(bench().runtime.export_runs, file)
    file.seek(0)
    return list(brought(Lines(file, "file"), Wanted(prefix="new "), set()))


def _reply(data: bytes) -> None:
    """What a host of another version may answer."""
    reply_of(data)


def _replies() -> list[bytes]:
    failure = asked.Failure("ReducerError", "so", {"run_id": "one", "seq": 3, "type": "desk.told"})
    values: list[Any] = [None, {"seq": 3, "duplicate": False}, {"runs": ["one"]}, "fork", [1, 2]]
    names = ("UnknownRun", "StoreInUse", "SignalsRefused", "RunFailed", "Other", "StoreFormatError", "RunSuspended")
    failures = [failure, *(asked.Failure(name, "so", {}) for name in names)]
    return [encode(asked.Reply(value)) for value in values] + [encode(asked.Reply(failure=one)) for one in failures]


_OF_ARGUMENTS = (LoomsError, ValueError, TypeError)  # what makes an instruction refuses as Python's own calls do

CALLS = (
    _at_bench("event", "msgpack", _events, _event),
    _at_bench("plain event", "msgpack", lambda: [encode(["desk.typed", _TYPED]), *kinds()], _plain),
    _at_bench("payload", "json", lambda: [msgspec.json.encode(one) for one in (_JSON_TYPED, {"what": [1]})], _payload),
    _at_bench("input", "msgpack", lambda: [encode({"text": "x"}), encode([1, {"a": b"b"}]), *kinds()], _input),
    _at_bench("match", "msgpack", lambda: [encode(_TYPED), *kinds()], _match),
    _at_bench(
        "id",
        "msgpack",
        lambda: [encode(one) for one in ("a", "a\0b", "x" * 255)] + kinds(),
        _ids,
        refuses=_OF_ARGUMENTS,
    ),
    _at_bench("number", "msgpack", lambda: [encode(one) for one in (1, 2, 3, 1.5, 60, 10**9)] + kinds(), _numbers),
    EntryPoint(
        "moment",
        "msgpack",
        lambda: [encode(one) for one in (1, 2, 1.5, 10**9)] + kinds(),
        _moments,
        refuses=_OF_ARGUMENTS,
    ),
    _at_bench("option", "msgpack", lambda: [encode(one) for one in ("one", "waiting", ["one"], 1)] + kinds(), _look),
    EntryPoint(
        "stored payload",
        "msgpack",
        lambda: [encode(_TYPED), encode({"where": "x"}), encode({"to": 1})],
        _stored_payload,
        says="desk.moved",
    ),
    _at_bench("request", "msgpack", _requests, _request),
    EntryPoint("answer", "msgpack", _replies, _reply),
)
