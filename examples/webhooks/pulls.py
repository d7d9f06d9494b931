"""One pull request, from `opened` until it is merged: each is a run, parked on what GitHub may say about it next.

While it is open it waits for a review, and for its end: merged or closed, whichever comes first. A closed one waits to
be opened again, and for nothing else. Every wait names the repository and the number, deep in the payload, so that a
published hook finds the one run among all that it is about.
"""

from typing import Any, Literal

import msgspec

from hooks import CommentHook, PullRequest, PullRequestHook, ReviewHook, github
from looms import Module, Reduced, Started, State, cancel, complete, replace, step, wait

pulls = Module("pulls", requires=[github])
modules = [github, pulls]


class Opened(msgspec.Struct, frozen=True):
    """What a run is started with."""

    repository: str
    number: int
    title: str


class Merged(msgspec.Struct, frozen=True):
    """What a run ends with."""

    reviews: int
    comments: int


class Pull(State):
    status: Literal["new", "open", "closed", "merged"] = "new"
    repository: str = ""
    number: int = 0
    title: str = ""
    reviews: tuple[str, ...] = ()
    comments: int = 0


@pulls.reducer("pull_request", state=Pull, input=Opened, output=Merged)
def pull_request(state: Pull, event: Started[Opened] | PullRequestHook | ReviewHook | CommentHook) -> Reduced[Pull]:
    match event:
        case Started(input=Opened(repository=repository, number=number, title=title)):
            return opened(Pull(repository=repository, number=number, title=title))
        case ReviewHook(review=review):
            told = f"{review.state.replace('_', ' ')} by {review.user.login if review.user else 'somebody'}"
            return step(
                replace(state, reviews=(*state.reviews, told)),
                wait(ReviewHook, match=about(state, action="submitted"), id="review"),
            )
        case CommentHook(action=action):
            return replace(state, comments=state.comments + {"created": 1, "deleted": -1}.get(action, 0))
        case PullRequestHook(action="reopened"):
            return opened(state)
        case PullRequestHook(pull_request=PullRequest(merged=True)):
            merged = Merged(reviews=len(state.reviews), comments=state.comments)
            return step(replace(state, status="merged"), complete(merged))
        case PullRequestHook():
            return step(
                replace(state, status="closed"),
                cancel("review"),
                wait(PullRequestHook, match=about(state, action="reopened")),
            )


def opened(pull: Pull) -> Reduced[Pull]:
    """An open pull request waits for a review, and for one of two ends: the waits of a group are alternatives."""
    return step(
        replace(pull, status="open"),
        wait(ReviewHook, match=about(pull, action="submitted"), id="review"),
        wait(PullRequestHook, match=about(pull, action="closed", merged=True), group="end"),
        wait(PullRequestHook, match=about(pull, action="closed", merged=False), group="end"),
    )


def about(pull: Pull, *, action: str, **fields: bool) -> dict[str, Any]:
    """The part of a payload that says that this happened to this pull request."""
    return {
        "action": action,
        "repository": {"full_name": pull.repository},
        "pull_request": {"number": pull.number, **fields},
    }
