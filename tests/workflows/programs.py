"""Workflows that are drawn: trees of what they await, and a run of one, played step by step without a runtime."""

from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from looms.reducers.instructions import Wait
from looms.workflows.journal import Asked, Journal, JournalEntry, asking, cancelling, settled
from looms.workflows.player import Player
from looms.workflows.step import Step
from looms.workflows.things import Gather, Race, Thing

# A program is a tree: what it awaits, one after the other, together, as the first of several, or tidied up after.
Program = tuple[Any, ...]


def grown(size: int, chance: Random) -> Program:
    """A program of about so many leaves, as chance has it."""
    if size <= 1:
        return chance.choice([("step",), ("step",), ("step",), ("at once",), ("version", chance.randint(2, 3))])
    kind = chance.choice(
        ["one by one", "one by one", "one by one", "gather", "gather", "race", "whatever", "finally", "shared"]
    )
    match kind:
        case "one by one" | "gather" | "race":
            parts = min(chance.randint(1, 5), size)
            return kind, [grown(size // parts, chance) for _ in range(parts)]
        case "finally":
            return kind, grown(size * 3 // 4, chance), grown(size // 4, chance)
    return kind, grown(size - 1, chance)


programs: st.SearchStrategy[tuple[Program, Random]] = st.builds(
    lambda size, chance: (grown(size, chance), chance), st.integers(1, 80), st.randoms(use_true_random=True)
)
"""A program, and the chance that says what happens to it."""


def thing(player: Player, program: Program) -> Thing[Any]:
    """What a program awaits."""
    kind, *parts = program
    if kind in ("step", "at once"):
        key = player.key("step", None)
        return Step(player, key, "wait" if kind == "step" else "emit", "", Wait(id=key))
    if kind in ("gather", "race"):
        inner = [thing(player, part) for part in parts[0]]
        return (Gather if kind == "gather" else Race)(player, inner)
    return player.branch(play(player, program))


async def play(player: Player, program: Program) -> Any:
    """A program as a coroutine."""
    kind, *parts = program
    match kind:
        case "version":
            return player.version(f"change {parts[0]}", parts[0])
        case "one by one":
            return [await play(player, part) for part in parts[0]]
        case "whatever":
            try:
                return await play(player, parts[0])
            except Exception as error:  # noqa: BLE001 - whatever it was, it is told
                return repr(error)
        case "finally":
            try:
                return await play(player, parts[0])
            finally:
                await play(player, parts[1])
        case "shared":
            one = thing(player, parts[0])
            return await Gather(player, [one, one, player.branch(once_more(one))])
    return [await thing(player, program), player.now.timestamp(), player.chance.random()]


async def once_more(one: Thing[Any]) -> Any:
    """A branch that waits for what somebody else waits for too."""
    return await one


class Playing:
    """A workflow that is played live, with a journal that could be stored at any moment.

    Attributes:
        decided: what it asked for, each time that it went on.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.at = 1_000
        self.player = Player(Journal(generation=1, ids=((0, "r1"),), seed="s", began=self.at))
        self.player.start(play(self.player, program))
        self.decided = [self.taken()]

    def taken(self) -> tuple[Asked, list[Any]]:
        asked, decided = self.player.taken()
        self.player.journal = asking(self.player.journal, asked)
        return asked, decided

    @property
    def journal(self) -> Journal:
        return self.player.journal

    @property
    def outcome(self) -> str:
        return repr(self.player.ended)

    def open(self) -> list[int]:
        """The places of what it waits for."""
        return [place for place, entry in enumerate(self.journal.entries) if entry.status == "open"]

    def settle(self, place: int, entry: JournalEntry) -> None:
        self.at += 7
        self.player.journal = settled(self.journal, place, entry, self.at)
        self.player.settle(place, self.at)
        self.decided.append(self.taken())

    def cancel(self) -> None:
        self.at += 7
        self.player.journal = cancelling(self.journal, "enough", self.at)
        self.player.settle(-1, self.at)
        self.decided.append(self.taken())

    def put_away_and_rebuilt(self) -> "Playing":
        """The same from its bytes and its code."""
        other = Playing.__new__(Playing)
        other.program, other.at, other.decided = self.program, self.at, list(self.decided)
        other.player = Player(msgspec.msgpack.decode(msgspec.msgpack.encode(self.journal), type=Journal))
        other.player.start(play(other.player, self.program))
        assert other.player.taken() == (Asked(), []), "nothing is asked twice"
        return other


def ended(entry: JournalEntry, place: int, fails: bool) -> JournalEntry:
    """An entry when its step has ended."""
    if fails:
        why = {"error": "E", "message": "m", "attempts": 1}
        return msgspec.structs.replace(entry, status="failed", value=why, error="E: m")
    return msgspec.structs.replace(entry, status="done", value=place)
