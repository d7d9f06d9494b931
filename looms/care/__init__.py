"""Looking after a store: checking and repairing it, what is in it, and copies of it."""
