"""On a small disk nothing that was acknowledged is lost, and a host goes on by itself when there is room."""

from pathlib import Path

import pytest

from tests.crash.small_disks import STORIES, on_a_small_disk


def test_a_disk_that_is_full_for_a_while_keeps_what_it_has_taken(tmp_path: Path) -> None:
    on_a_small_disk("full_for_a_while", tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("story", [story for story in STORIES if story != "full_for_a_while"])
def test_so_does_one_that_is_full_or_can_only_be_read_when_a_store_is_opened(story: str, tmp_path: Path) -> None:
    on_a_small_disk(story, tmp_path)
