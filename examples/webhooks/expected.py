"""What should become of the deliveries, worked out without Looms: plain JSON, plain dictionaries, one pass.

It shares with the rest the names of the outcomes and of the three kinds of hooks, and no code that reads or decides.
"""

import json
from collections import Counter
from collections.abc import Iterable
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


def expect(lines: Iterable[bytes]) -> tuple[Counter[str], dict[str, Told]]:
    """The outcomes by kind, and each pull request as it is at the end."""
    tally: Counter[str] = Counter()
    pulls: dict[str, Told] = {}
    seen: set[bytes] = set()
    for line in lines:
        outcome = expected(line, pulls, seen)
        if outcome in (TAKEN, TOLD):
            seen.add(line)
        tally[outcome] += 1
    return tally, dict(sorted(pulls.items()))


def expected(line: bytes, pulls: dict[str, Told], seen: set[bytes]) -> str:
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
    if line in seen:
        return REPEATED
    id = f"{payload['repository']['full_name']}#{payload['pull_request']['number']}"
    if kind == "pull_request":
        return pull_request(payload, id, pulls)
    if kind == "pull_request_review":
        return review(payload, id, pulls)
    return comment(payload, id, pulls)


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
