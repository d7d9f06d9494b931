"""Files that are read: exports, whole and compressed; what a verification has noted; the lock of a store."""

import gzip
import io
import os
import tempfile
from functools import cache
from pathlib import Path

import msgspec

from looms import InvalidInput, StoreInUse
from looms.commands.settings import UsageError
from looms.commands.verify_file import VerifyFile
from looms.reducers.exact_json import as_json, from_json
from looms.snapshots.lock import in_use, signed_in
from looms.summaries import RunSummary
from tests.fuzz.bench import bench
from tests.fuzz.given import encode
from tests.fuzz.harness import EntryPoint, Finding

SUMMARY = RunSummary("one", "desk.desk", "waiting", 3, 1, 2)


@cache
def exported() -> bytes:
    """All that the bench holds, as lines."""
    file = io.BytesIO()
    bench().call(bench().runtime.export_runs, file)
    return file.getvalue()


def _import(data: bytes) -> None:
    """A file of exported runs; under other ids, since those of the bench are there."""
    done = bench().call(bench().runtime.import_runs, io.BytesIO(data), prefix="new ")
    checked = bench().call(bench().runtime.check)
    if not checked.ok:
        raise Finding(f"what was imported is not sound: {done} {checked.findings[:3]}")


def _verify_file(data: bytes) -> None:
    """What a verification that was stopped has noted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noted"
        path.write_bytes(data)
        try:
            with VerifyFile(path, Path("/store"), "code") as file:
                found = file.kept(SUMMARY)
                if found is not None:
                    file.keep(SUMMARY, found)
        except UsageError:
            if path.read_bytes() != data:
                raise Finding("it was refused, and the file has changed") from None
            raise


def noted() -> list[bytes]:
    """A file in which a verification was noted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noted"
        with VerifyFile(path, Path("/store"), "code") as file:
            file.keep(SUMMARY, {"run_id": "one", "ok": True, "sound": True, "records": 3})
            file.keep(msgspec.structs.replace(SUMMARY, run_id="two"), {"run_id": "two", "sound": False, "records": 9})
        return [path.read_bytes()]


def _lock(data: bytes) -> None:
    """What the lock file says of whoever has the store."""
    raise in_use("here", signed_in(data[:1_024]))


def _json(data: bytes) -> None:
    """JSON with what plain JSON cannot say."""
    try:
        packed = from_json(data)
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidInput(str(error) or type(error).__name__) from error
    if from_json(as_json(packed)) != packed:
        raise Finding("what was read is written as something else")


_SAID = {"pid": os.getppid(), "host": "another", "serves": True, "protocol": 1}
_MARKED = {"a": {"$bytes": "AAE="}, "b": {"$time": "2026-03-01T12:00:00Z"}, "c": {"$map": [[1, {"$float": "nan"}]]}}

FILES = (
    EntryPoint(
        "import",
        "lines",
        lambda: [exported(), gzip.compress(exported(), mtime=0)],
        _import,
        says="line [0-9]+: |file",
        digest=lambda: bench().digest(),
        reset=lambda: bench().reset(),
    ),
    EntryPoint("verify file", "json", noted, _verify_file, refuses=(UsageError,), says="--resume"),
    EntryPoint("lock", "json", lambda: [msgspec.json.encode(_SAID)], _lock, refuses=(StoreInUse,), says="in use"),
    EntryPoint("exact json", "json", lambda: [msgspec.json.encode(_MARKED), as_json(encode({1: b"x"}))], _json),
)
