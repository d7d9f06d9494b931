"""The pure core: events, modules, instructions, waits, and how a log is planned, folded and replayed.

Nothing here knows a clock, a disk or an event loop. A run is a value (`folded.FoldedRun`) that two functions change:
`plan.plan` when something comes to it, and `fold.fold` when its log is read again.
"""
