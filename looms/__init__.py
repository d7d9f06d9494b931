"""Looms: an event-sourced actor runtime. What users import: the runtime, modules, instructions, errors."""
