"""A process that reads beside a host; run as `python -m tests.soak.reading STORE TIMES`."""

import sys

import looms
from looms import UnknownRun
from tests.soak.application import soaked


def main(store: str, times: int) -> None:
    for _ in range(times):
        with looms.open_reader(store, modules=[soaked]) as reader:
            reader.stats(top=0)
            for summary in reader.runs(limit=50):
                try:
                    reader.run(summary.run_id).inspect()
                    list(reader.run(summary.run_id).events())
                except UnknownRun:
                    pass  # it was deleted meanwhile
            list(reader.effects())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
