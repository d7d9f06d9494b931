"""Measurements: what Looms costs, beside what the machine could do at best. Never tests: machines are noisy.

`uv run python -m benchmarks` runs them, prints a table and writes `benchmarks/results/`; `suite.py` lists them. Each
is one file with a function that takes a `Context` and returns `Figure`s; what is measured, and what is not, stands at
its head. Where a figure is a ratio, both sides were measured in the same run, in turn, each in a process of its own.
"""
