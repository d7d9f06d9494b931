"""What should become of the deliveries, worked out without Looms: plain JSON, plain dictionaries, one pass.

It shares with the rest the names of the outcomes and of the three kinds of hooks, and no code that reads or decides.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from deliver import NOT_A_DELIVERY, NOT_AWAITED, REPEATED, STARTED, TAKEN, TOLD

FIELDS = {  # what must be in a payload, and of which type
    "pull_request": {
        ("action",): str,
        ("repository", "full_name"): str,
        ("pull_request", "number"): int,
        ("pull_request", "title"): str,
        ("pull_request", "merged"): bool,
    },
    "pull_request_review": {
        ("action",): str,
        ("repository", "full_name"): str,
        ("pull_request", "number"): int,
        ("review", "state"): str,
    },
    "pull_request_review_comment": {
        ("action",): str,
        ("repository", "full_name"): str,
        ("pull_request", "number"): int,
    },
}


class Told(NamedTuple):
    """One pull request, as plain as it gets."""

    status: str
    reviews: int
    comments: int


def expect(lines: Sequence[bytes], *, again: bool = False) -> tuple[Counter[str], dict[str, Told]]:
    """The outcomes by kind, and each pull request as it is at the end; `again`: all of it was delivered before."""
    pulls: dict[str, Told] = {}
    known: set[bytes] = set()
    outcomes = Counter(expected(line, pulls, known) for line in lines)
    if again:
        outcomes = Counter(expected(line, pulls, known) for line in lines)
    return outcomes, dict(sorted(pulls.items()))


def expected(line: bytes, pulls: dict[str, Told], known: set[bytes]) -> str:
    """What becomes of a line; one that Looms takes is known from then on, whether a run waited for it or not."""
    try:
        delivery = json.loads(line)
        kind, payload = delivery["event"], delivery["payload"]
    except (ValueError, KeyError, TypeError):
        return NOT_A_DELIVERY
    if not isinstance(kind, str):
        return NOT_A_DELIVERY
    if kind not in FIELDS:
        return "UnknownEvent"
    if not all(type(at(payload, path)) is type_ for path, type_ in FIELDS[kind].items()):
        return "InvalidEvent"
    if line in known:
        return REPEATED
    id = f"{payload['repository']['full_name']}#{payload['pull_request']['number']}"
    match kind:
        case "pull_request":
            outcome = pull_request(payload, id, pulls)
        case "pull_request_review":
            outcome = review(payload, id, pulls)
        case _:
            outcome = comment(payload, id, pulls)
    if outcome in (TAKEN, TOLD, NOT_AWAITED):
        known.add(line)
    return outcome


def at(payload: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        payload = payload.get(name) if isinstance(payload, dict) else None
    return payload


def pull_request(payload: Any, id: str, pulls: dict[str, Told]) -> str:
    action, merged, pull = payload["action"], payload["pull_request"]["merged"], pulls.get(id)
    match action, pull.status if pull else None:
        case "opened", None:
            pulls[id] = Told("open", 0, 0)
            return STARTED
        case "opened", _:
            return "RunExists"
        case "closed", "open":
            pulls[id] = pulls[id]._replace(status="merged" if merged else "closed")
        case "reopened", "closed":
            pulls[id] = pulls[id]._replace(status="open")
        case _:
            return NOT_AWAITED
    return TAKEN


def review(payload: Any, id: str, pulls: dict[str, Told]) -> str:
    if payload["action"] != "submitted" or id not in pulls or pulls[id].status != "open":
        return NOT_AWAITED
    pulls[id] = pulls[id]._replace(reviews=pulls[id].reviews + 1)
    return TAKEN


def comment(payload: Any, id: str, pulls: dict[str, Told]) -> str:
    if id not in pulls:
        return "UnknownRun"
    if pulls[id].status == "merged":
        return "RunFinished"
    change = {"created": 1, "deleted": -1}.get(payload["action"], 0)
    pulls[id] = pulls[id]._replace(comments=pulls[id].comments + change)
    return TOLD
