"""The pure core: events, modules, instructions, waits, folding, planning and replay. No clock, no I/O."""
