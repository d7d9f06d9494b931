"""Measurements: scripts, never tests. Machines are noisy, so figures are ratios within one run, or sizes."""
