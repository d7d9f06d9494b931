"""The disk: the LMDB environment, the log, snapshots with their deltas, and the indexes."""
