"""Modules that come with Looms, for applications to require."""
