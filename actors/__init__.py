"""Concurrency: the cells, the host that keeps them, group commit, timers and the dispatch of effects."""
