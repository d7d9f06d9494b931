"""The modules that come with Looms."""
