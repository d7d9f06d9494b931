"""Every way in for bytes, JSON and values that others have written: each takes bytes, and says what it refuses with.

A new way in is put into the list here; the tests, and the fuzzer, try what is in the list.
"""

from tests.fuzz import files, stored, words
from tests.fuzz.calls import CALLS
from tests.fuzz.harness import EntryPoint

ALL: tuple[EntryPoint, ...] = (*CALLS, *words.WORDS, *files.FILES, *stored.STORED)
BY_NAME = {entry.name: entry for entry in ALL}
