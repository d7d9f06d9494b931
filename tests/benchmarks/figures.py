"""Results as they might be, without measuring anything."""

from benchmarks.figures import Figure
from benchmarks.growth import Growth
from benchmarks.machine import Machine
from benchmarks.results import Results
from benchmarks.suite import BENCHMARKS, PEERS, Outcome

MET = Figure(
    benchmark="wake", what="one signal, against raw", value=1.2, at_most=1.5, detail="Looms 0.6 ms, raw 0.5 ms"
)
TWICE = Figure(benchmark="peers", what="steps, against another", value=20, at_least=20, rounds=(18.2, 20, 24))
TUNED = Figure(benchmark="peers", what="steps, against another, tuned", value=4, detail="Looms 8 /s, it 2 /s")
MISSED = Figure(benchmark="batch", what="records a second & more, against raw", value=0.25, at_least=0.5)
BESIDE = Figure(benchmark="wake", what="relaxed", value=2.0)

GROWTH = Growth(by="parked runs", sizes=(1_000, 10_000), rows={"a signal (ms)": (0.5, 0.52)})

MACHINE = Machine(
    system="Linux 6",
    processor="some",
    cores=2,
    memory_gb=16,
    file_system="ext4",
    python="CPython 3.11",
    versions={"lmdb": "3", "msgspec": "1"},
    commit="abc",
    date="2027-01-02T03:04:05+00:00",
    load=(0.31, 0.2, 0.12),
)

RESULTS = Results(
    machine=MACHINE,
    sizes="full",
    seconds=1,
    outcomes=(
        Outcome(name="wake", seconds=1, figures=(MET, BESIDE)),
        Outcome(name="batch", seconds=1, figures=(MISSED,)),
        Outcome(name="fold", seconds=1, error="Traceback:\nOSError: no room"),
        Outcome(name="by runs", seconds=1, growth=GROWTH),
    ),
)

FULL = Results(
    machine=MACHINE,
    sizes="full",
    seconds=1,
    outcomes=(
        *(Outcome(name=one.name, seconds=1, figures=(MET, BESIDE) if one.name == "wake" else ()) for one in BENCHMARKS),
        Outcome(name=PEERS[0].name, seconds=1, figures=(TWICE, TUNED)),
        Outcome(name=PEERS[1].name, seconds=1, figures=(MISSED,)),
        Outcome(name="by runs", seconds=1, growth=GROWTH),
    ),
)
