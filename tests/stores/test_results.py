"""What the calls on a store give back, and what they raise, is plain to see."""

from uuid import UUID

import looms
from looms.stores.errors import InvalidState, NotPure, UnknownStore
from looms.stores.results import Conflict, Deleted, Revision, StoreSnapshot, Updated
from tests.stores.chatroom import Conversation

ID = UUID(int=7)


def test_what_was_done_and_what_was_not_can_be_told_by_one_field() -> None:
    updated = Updated(Conversation(), 1, ID)
    conflict = Conflict(expected=Revision(0, ID), actual=None)
    assert (updated.updated, Deleted(1, ID).deleted) == (True, True)
    assert (conflict.updated, conflict.deleted) == (False, False)
    assert StoreSnapshot(Conversation(), 3, ID).revision == Revision(3, ID)


def test_errors_say_what_and_where() -> None:
    unknown = UnknownStore("chat.conversation", "c1")
    assert (unknown.name, unknown.id) == ("chat.conversation", "c1")
    assert str(unknown) == ("there is no store chat.conversation 'c1'; the first call on one with initial= creates it")
    invalid = InvalidState("$.items[0].id", "Expected `str`, got `int`")
    assert (invalid.path, invalid.message) == ("$.items[0].id", "Expected `str`, got `int`")
    assert str(invalid) == "Expected `str`, got `int` - at `$.items[0].id`"
    impure = NotPure("selector next_one changed `$.items`", "a selector only looks")
    assert impure.what == "selector next_one changed `$.items`"
    assert all(isinstance(error, looms.LoomsError) for error in (unknown, invalid, impure))
