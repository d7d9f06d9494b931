"""State is derived, decisions are recorded: a log folds to the very run that was planned, from wherever it is begun."""

from typing import Any

from looms.reducers.entries import Entry, unpack_entry
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.image_bytes import pack_full, unpack_full
from looms.reducers.images import fingerprints, fits, image, restore
from looms.reducers.journal import Groups, Journal, Table
from looms.reducers.lifecycle import Met
from looms.reducers.matching import contains
from looms.reducers.open_waits import Index
from looms.reducers.plan import Accepted, plan
from looms.reducers.strides import Strides
from tests.properties.exact import exact
from tests.properties.histories import TIGHT, History, Played, folded, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE


def contents(indexed: object) -> dict[str, Any]:
    """What is in the tables and groups of an object."""
    found: dict[str, Any] = {}
    for name in getattr(indexed, "__slots__", None) or vars(indexed):
        part = getattr(indexed, name)
        if isinstance(part, Groups):
            found[name] = {key: set(members) for key, members in part.items()}
        elif isinstance(part, Table):
            found[name] = dict(part)
    return found


def check_indexes(run: FoldedRun) -> None:
    """What is looked up by an index is what a naive pass over everything finds."""
    anew = Index(Journal())
    for wait in run.waits.by_key.values():
        anew.add(wait)
    if run.waits._index is not None:
        assert contents(run.waits._index) == contents(anew)
    children: dict[str, set[str]] = {}
    for thread in run.threads.values():
        if thread.parent is not None:
            children.setdefault(thread.parent, set()).add(thread.id)
    effects: dict[str, set[tuple[int, int]]] = {}
    for effect in run.effects.values():
        effects.setdefault(effect.thread, set()).add(effect.key)
    assert contents(run)["children"] == children
    assert contents(run)["effects_of"] == effects
    assert set(children) | set(effects) | {wait.thread for wait in run.waits.by_key.values()} <= set(run.threads)


@effort(quick=100, long=1_200)
def test_folding_what_a_turn_recorded_gives_the_run_that_it_planned(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played, copy = Played(history), new_run(history)
        turn = played.start()
        for passed, moves in ((0, ()), *history.turns):
            if moves:
                turn = played.turn(played.items(passed, moves))
            for entry in turn.entries:
                stored = unpack_entry(entry.pack(), CODE)
                fold(copy, stored, CODE)
                assert exact(stored.decisions) == exact(entry.decisions)
                assert stored.pack() == entry.pack()
            assert normal(copy) == normal(played.run)
            check_indexes(played.run)
            check_indexes(copy)
            if not isinstance(turn.outcomes[0], Accepted) and not played.log:
                return


@effort(quick=60, long=600)
def test_a_log_that_is_folded_in_strides_gives_the_same_run(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        run, place = new_run(history), 0
        strides = Strides(run, CODE)
        while (place := strides.fold(played.log, place)) < len(played.log):
            fold(run, unpack_entry(played.log[place], CODE), CODE)
            place += 1
        assert normal(run) == normal(played.run)
        check_indexes(run)


@effort(quick=40, long=400)
def test_an_image_taken_at_any_seq_stands_for_all_the_records_before(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        whole = normal(played.run)
        before = new_run(history)
        for seq, data in enumerate(played.log, 1):
            fold(before, unpack_entry(data, CODE), CODE)
            packed = pack_full(image(before), CODE)
            assert fits(fingerprints(before.threads.values(), CODE), CODE)
            run = new_run(history)
            restore(unpack_full(packed, CODE), run, lambda at: unpack_entry(played.log[at - 1], CODE))
            assert normal(run) == normal(before)
            check_indexes(run)
            assert pack_full(image(run), CODE) == packed
            assert normal(folded(played.log[seq:], run)) == whole


@effort(quick=40, long=400)
def test_a_log_folds_without_the_code_to_all_but_the_states(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        blind, seeing = folded(played.log, new_run(history), None), played.run
        assert set(blind.threads) == set(seeing.threads)
        assert all(thread.state is None for thread in blind.threads.values())
        alike = ("seq", "at", "waits", "mailbox", "cancelling")
        assert [normal(blind)[name] for name in alike] == [normal(seeing)[name] for name in alike]
        assert {key: (e.effect, e.thread, e.emitted) for key, e in blind.effects.items()} == {
            key: (e.effect, e.thread, e.emitted) for key, e in seeing.effects.items()
        }
        assert blind.status == seeing.status


@effort(quick=60, long=600)
def test_an_item_that_is_not_accepted_leaves_the_run_as_it_was(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        before = normal(played.run)
        if not isinstance(played.start().outcomes[0], Accepted):
            assert normal(played.run) == before
            assert played.run.threads == {}
            return
        for passed, moves in history.turns:
            for item in played.items(passed, moves):
                before, records = normal(played.run), len(played.log)
                turn = played.turn([item])
                if not isinstance(turn.outcomes[0], Accepted):
                    assert normal(played.run) == before
                    assert len(played.log) == records
                    check_indexes(played.run)


@effort(quick=40, long=400)
def test_the_items_of_a_turn_get_what_they_would_get_one_by_one(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        together, apart = Played(history), Played(history)
        if not isinstance(together.start().outcomes[0], Accepted):
            return
        apart.start()
        for passed, moves in history.turns:
            items = together.items(passed, moves)
            apart.now = together.now
            turn = together.turn(items)
            singly = []
            for item in items:
                singly += apart.turn([item]).outcomes
                if len(singly) == len(turn.outcomes):
                    break
            assert [repr(outcome) for outcome in singly] == [repr(outcome) for outcome in turn.outcomes]
            assert apart.log == together.log
            assert normal(apart.run) == normal(together.run)


@effort(quick=50, long=600)
def test_a_turn_that_is_taken_back_leaves_no_trace_and_can_be_planned_again(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not isinstance(played.start().outcomes[0], Accepted):
            return
        for passed, moves in history.turns:
            items = played.items(passed, moves)
            before, mark = normal(played.run), played.run.journal.mark()
            first = plan(played.run, items, CODE, played.now, TIGHT, played.known)
            planned = normal(played.run)
            played.run.journal.undo(mark)
            assert normal(played.run) == before
            check_indexes(played.run)
            again = played.turn(items)
            assert [entry.pack() for entry in again.entries] == [entry.pack() for entry in first.entries]
            assert normal(played.run) == planned


@effort(quick=60, long=600)
def test_records_are_numbered_timed_and_caused_in_order(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played = Played(history)
        if not played.play():
            return
        at, effects = 0, set()
        for seq, entry in enumerate(played.entries, 1):
            assert entry.seq == seq
            assert entry.row.at >= at
            at = entry.row.at
            assert entry.more.cause is None or 1 <= entry.more.cause < seq
            if entry.row.type not in ("looms.signal_failed", "looms.met"):
                assert (entry.more.cause is None) == (entry.row.origin in ("start", "signal", "run"))
            if entry.more.effect is not None and entry.more.final:
                assert entry.more.effect not in effects, "an effect ends once"
                effects.add(entry.more.effect)


@effort(quick=60, long=600)
def test_a_thread_is_started_once_and_before_all_else(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played, run = Played(history), new_run(history)
        if not played.play():
            return
        for data in played.log:
            fold(run, unpack_entry(data, CODE), CODE)
            for thread in run.threads.values():
                starts = ["Started(" in word for word in thread.state.words]
                assert starts == [True, *[False] * (len(starts) - 1)] or starts == []


def rule(run: FoldedRun, entry: Entry) -> dict[str, str | None]:
    """Who gets a record's event, and the id of the wait that it meets, by the words of the rule.

    "The root, if its reducer handles the type and none of its own open waits names that type (where one does, its
    match decides); and every thread with a wait that matches. The root takes it first, then the others in the order
    they were spawned. The oldest of its own waits that match is satisfied." What is addressed goes to that thread.
    """
    kind, thread = entry.row.type, entry.more.thread

    def handles(id: str) -> bool:
        return type(entry.event) in CODE.definition(run.threads[id].kind).handles

    def met(id: str) -> str | None:
        own = sorted((w for w in run.waits.by_key.values() if w.thread == id), key=lambda w: w.key)
        return next((w.id for w in own if kind in w.types and contains(entry.plain, w.match)), None)

    def named(id: str) -> bool:
        return any(w.thread == id and kind in w.types for w in run.waits.by_key.values())

    if run.end is not None or kind in ("looms.cancelled", "looms.effect_completed"):
        return {}
    if isinstance(entry.event, Met):
        assert thread is not None
        return {thread: entry.event.wait}
    if thread is not None:
        of_runtime = kind.startswith("looms.")
        failure = kind in ("looms.effect_failed", "looms.child_failed")
        takes = failure or (handles(thread) and (of_runtime or not named(thread)))
        return {thread: met(thread)} if takes or met(thread) else {}
    root = {"root": met("root")} if met("root") or (handles("root") and not named("root")) else {}
    others = sorted((t for t in run.threads.values() if t.id != "root" and met(t.id)), key=lambda t: t.born)
    return root | {t.id: met(t.id) for t in others}


@effort(quick=100, long=1_200)
def test_an_event_is_given_to_whom_the_rule_says(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played, run = Played(history), new_run(history)
        if not played.play():
            return
        fold(run, unpack_entry(played.log[0], CODE), CODE)
        for data in played.log[1:]:
            entry = unpack_entry(data, CODE)
            expected = rule(run, entry) if entry.row.type != "looms.taken" else dict(entry.more.satisfied)
            fold(run, entry, CODE)
            took = [thread for thread, _, _ in entry.more.decisions]
            assert entry.more.satisfied == {thread: wait for thread, wait in expected.items() if wait is not None}
            assert [thread for thread in expected if thread in took] == took
            for thread in set(expected) - set(took):  # those that others ended first
                assert run.end is not None or thread not in run.threads or run.threads[thread].born[0] == entry.seq


@effort(quick=60, long=600)
def test_the_mailbox_holds_what_came_and_nobody_took(examples: int) -> None:
    @holds(examples, histories)
    def law(history: History) -> None:
        played, run = Played(history), new_run(history)
        if not played.play():
            return
        for data in played.log:
            entry = unpack_entry(data, CODE)
            over = run.end is not None
            fold(run, entry, CODE)
            kept = (
                not entry.more.decisions
                and not over
                and entry.row.origin in ("signal", "run", "effect")
                and not entry.row.type.startswith("looms.")
            )
            assert (entry.seq in run.mailbox) == kept
            if entry.row.type == "looms.taken":
                assert entry.plain["seq"] not in run.mailbox
            for mail in run.mailbox.values():
                assert mail.more.thread is None or mail.more.thread in run.threads
                waiting = [w for w in run.waits.by_key.values() if mail.more.thread in (None, w.thread)]
                assert run.seq < len(played.log) or not any(
                    mail.row.type in w.types and contains(mail.plain, w.match) for w in waiting
                ), "a wait and an event that meets it are never left side by side"
