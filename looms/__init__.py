"""Looms: an event-sourced actor runtime.

Everything that an application needs is importable from here; what its tests need, from ``looms.testing``.
"""

from looms.actors.clock import Clock, SystemClock
from looms.actors.errors import (
    RunActive,
    RunCancelled,
    RunExists,
    RunFailed,
    RuntimeClosed,
    UnknownEffect,
    UnknownRun,
    WrongThread,
)
from looms.actors.publishing import Published
from looms.actors.retention import Retention
from looms.actors.service import Receipt
from looms.bulk import SignalsBrokenOff, SignalsRefused
from looms.care.backup import Backup, backup
from looms.care.checking import Checked, check
from looms.care.findings import Finding
from looms.care.repairing import Repaired, repair
from looms.care.stats import RunSize, SnapshotSizes, Stats, stats
from looms.module import Module
from looms.outstanding import OutstandingEffect
from looms.reader import Reader
from looms.reducers.definitions import Definition, Projection, ReduceContext
from looms.reducers.effects import Effect, EffectContext, Retry
from looms.reducers.errors import (
    EffectOver,
    InvalidEvent,
    InvalidInput,
    InvalidMatch,
    LoomsError,
    MailboxFull,
    ModuleError,
    ReducerError,
    RunFinished,
    RunSuspended,
    SeqOutOfRange,
    TakesNoEvents,
    TurnTooLong,
    UnknownEvent,
)
from looms.reducers.events import Event
from looms.reducers.instructions import (
    Instruction,
    Reduced,
    Step,
    cancel,
    cancelled,
    complete,
    emit,
    fail,
    invoke,
    publish,
    signal,
    sleep,
    spawn,
    step,
    wait,
)
from looms.reducers.lifecycle import (
    CancelRequested,
    ChildCancelled,
    ChildCompleted,
    ChildFailed,
    EffectFailed,
    SignalFailed,
    Started,
    TimedOut,
)
from looms.reducers.records import Record
from looms.reducers.run_changes import Change
from looms.reducers.state import State
from looms.reducers.verifying import Divergence
from looms.reducers.views import EffectState, Replay, RunState, ThreadState, WaitState
from looms.run import Run
from looms.run_reading import RunReading
from looms.runtime import Runtime
from looms.snapshots.errors import (
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreFormatError,
    StoreFull,
    StoreInUse,
    StoreNotFound,
)
from looms.snapshots.sizes import Sizes, TableSize
from looms.snapshots.stuck import Stuck
from looms.store import Store
from looms.store_reading import StoreReading
from looms.stores.errors import InvalidState, NotPure, UnknownStore
from looms.stores.replacing import replace
from looms.stores.results import Conflict, Deleted, Revision, StoreSnapshot, Updated
from looms.summaries import Commit, Exported, Imported, Pruned, RunSummary, Snapshot, Turn
from looms.sync import open as open
from looms.sync import open_reader
from looms.sync.reader import SyncReader
from looms.sync.run import SyncRun, SyncRunReading
from looms.sync.runtime import SyncRuntime
from looms.sync.store import SyncStore, SyncStoreReading
from looms.verifying import Verification
from looms.workflows.context import Workflow
from looms.workflows.errors import Cancelled, Diverged, DuplicateKey, NotDurable, StepFailed, UnreadableJournal
from looms.workflows.journal import Journal, JournalEntry
from looms.workflows.stores import WorkflowStore
from looms.workflows.things import Raced

MINUTE = 60
HOUR = 3_600
DAY = 86_400

# Not `open`: `from looms import *` must not take the builtin's place. It is called as `looms.open`.
__all__ = [
    "DAY",
    "HOUR",
    "MINUTE",
    "Backup",
    "CancelRequested",
    "Cancelled",
    "Change",
    "Checked",
    "ChildCancelled",
    "ChildCompleted",
    "ChildFailed",
    "Clock",
    "Commit",
    "Conflict",
    "Definition",
    "Deleted",
    "Diverged",
    "Divergence",
    "DuplicateKey",
    "Effect",
    "EffectContext",
    "EffectFailed",
    "EffectOver",
    "EffectState",
    "Event",
    "Exported",
    "Finding",
    "Imported",
    "Instruction",
    "InvalidEvent",
    "InvalidInput",
    "InvalidMatch",
    "InvalidState",
    "Journal",
    "JournalEntry",
    "LoomsError",
    "MailboxFull",
    "Module",
    "ModuleError",
    "NotDurable",
    "NotPure",
    "OutstandingEffect",
    "Projection",
    "Pruned",
    "Published",
    "Raced",
    "Reader",
    "Receipt",
    "Record",
    "ReduceContext",
    "Reduced",
    "ReducerError",
    "Repaired",
    "Replay",
    "Retention",
    "Retry",
    "Revision",
    "Run",
    "RunActive",
    "RunCancelled",
    "RunExists",
    "RunFailed",
    "RunFinished",
    "RunReading",
    "RunSize",
    "RunState",
    "RunSummary",
    "RunSuspended",
    "Runtime",
    "RuntimeClosed",
    "SeqOutOfRange",
    "SignalFailed",
    "SignalsBrokenOff",
    "SignalsRefused",
    "Sizes",
    "Snapshot",
    "SnapshotSizes",
    "Started",
    "State",
    "Stats",
    "Step",
    "StepFailed",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreFormatError",
    "StoreFull",
    "StoreInUse",
    "StoreNotFound",
    "StoreReading",
    "StoreSnapshot",
    "Stuck",
    "SyncReader",
    "SyncRun",
    "SyncRunReading",
    "SyncRuntime",
    "SyncStore",
    "SyncStoreReading",
    "SystemClock",
    "TableSize",
    "TakesNoEvents",
    "ThreadState",
    "TimedOut",
    "Turn",
    "TurnTooLong",
    "UnknownEffect",
    "UnknownEvent",
    "UnknownRun",
    "UnknownStore",
    "UnreadableJournal",
    "Updated",
    "Verification",
    "WaitState",
    "Workflow",
    "WorkflowStore",
    "WrongThread",
    "backup",
    "cancel",
    "cancelled",
    "check",
    "complete",
    "emit",
    "fail",
    "invoke",
    "open_reader",
    "publish",
    "repair",
    "replace",
    "signal",
    "sleep",
    "spawn",
    "stats",
    "step",
    "wait",
]

for _name in __all__:
    _public = globals()[_name]
    if isinstance(_public, type):
        _public.__module__ = __name__  # a traceback then names what users import: looms.RunExists
