"""The same job done by other libraries that keep their data in a file: `--group peers`.

They are installed by `uv run --group peers`, never by default. Each is used as its documentation says, with its default
durability; where settings make it faster without giving that up, it is measured with those too, beside.
"""
