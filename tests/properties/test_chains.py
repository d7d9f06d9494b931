"""Snapshots that stand on each other: each, read back through its chain, is the run as its log folds to."""

from collections.abc import Callable

from looms.reducers.entries import unpack_entry
from looms.reducers.fold import fold
from looms.reducers.folded import FoldedRun
from looms.reducers.image_bytes import pack_full
from looms.reducers.images import fingerprints, image, restore
from looms.snapshots import chains, snapshot_rows
from looms.snapshots.chains import Chain
from tests.properties.histories import History, Played, histories, new_run, normal
from tests.properties.laws import effort, holds
from tests.properties.scripted import CODE
from tests.snapshots.stories import a_store

RUN = 7


def followed(history: History, seen: Callable[[FoldedRun], None]) -> list[bytes]:
    """Fold a history's log, showing the run at each seq; return the log."""
    played = Played(history)
    if not played.play():
        return []
    run = new_run(history)
    for data in played.log:
        fold(run, unpack_entry(data, CODE), CODE)
        run.journal.clear()
        seen(run)
    return played.log


@effort(quick=40, long=400)
def test_a_snapshot_at_every_seq_is_read_back_through_its_chain(examples: int) -> None:
    with a_store() as store, store.view() as view:

        @holds(examples, histories)
        def law(history: History) -> None:
            batch, chain, expected, infos = store.new_batch(), Chain(), {}, {}

            def seen(run: FoldedRun) -> None:
                nonlocal chain
                written = chains.extend(chain, image(run), fingerprints(run.threads.values(), CODE), CODE)
                snapshot_rows.put(batch, RUN, run.seq, written.info, written.body)
                infos[run.seq] = written.info
                expected[run.seq] = (normal(run), pack_full(image(run), CODE))
                restarts = run.seq % 3 == 0
                chain = chains.read(batch.over(view), RUN, run.seq, CODE) if restarts else written.chain

            log = followed(history, seen)
            for seq, (whole, full) in expected.items():
                info = infos[seq]
                assert (info.number, info.kind == "full") == (seq - 1, info.base is None)
                assert info.base in (None, ((seq - 1) & (seq - 2)) + 1)
                found = chains.read(batch.over(view), RUN, seq, CODE)
                assert len(found.links) <= seq.bit_length() + 1
                run = new_run(history)
                restore(found.links[-1].image, run, lambda at: unpack_entry(log[at - 1], CODE))
                assert normal(run) == whole
                assert pack_full(found.links[-1].image, CODE) == full
                bare = chains.read(batch.over(view), RUN, seq, None).links[-1].image
                assert pack_full(bare, None) == full
