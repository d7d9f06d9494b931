"""Workflows: durable async functions, as a thread kind whose state is the journal of what they asked for."""
