"""GitHub's webhooks as events: of each payload the fields that are used here, typed; what else it holds is dropped.

A wait finds them by what they contain, as deep as it needs: {"pull_request": {"number": 7, "merged": True}}.
"""

from typing import Any

import msgspec

from looms import Event, Module

github = Module("github")


class User(msgspec.Struct, frozen=True):
    login: str


class Repository(msgspec.Struct, frozen=True):
    full_name: str


class PullRequest(msgspec.Struct, frozen=True):
    number: int
    title: str
    merged: bool


class Numbered(msgspec.Struct, frozen=True):
    """A pull request as it comes with a review or a comment: here only its number matters."""

    number: int


class Review(msgspec.Struct, frozen=True):
    state: str
    user: User | None = None  # null for an account that is gone


@github.event("pull_request")
class PullRequestHook(Event):
    action: str
    repository: Repository
    pull_request: PullRequest


@github.event("pull_request_review")
class ReviewHook(Event):
    action: str
    repository: Repository
    pull_request: Numbered
    review: Review


@github.event("pull_request_review_comment")
class CommentHook(Event):
    action: str
    repository: Repository
    pull_request: Numbered


class Delivery(msgspec.Struct, frozen=True):
    """One line of the file: the name that GitHub sends in a header, and the body."""

    event: str
    payload: Any
