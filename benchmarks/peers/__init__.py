"""The same job done by other libraries that keep their data in a file: `--group peers`.

They are installed by `uv run --group peers`, never by default. Each is used as its documentation says, with its
default durability, and where a setting makes it faster without giving that up, with that setting; what it was is said
where it is made.
"""
