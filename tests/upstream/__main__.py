"""``python -m tests.upstream``: numba-cuda's own tests on the emulated device, against the list of those that do not pass."""
from __future__ import annotations

import argparse
import collections
import json
import os
import time

from tests.upstream import expected, runner


def main() -> int:
    options = arguments()
    began = time.monotonic()
    listed = expected.read()
    saved = open(options.save, "w", encoding="utf-8") if options.save else None

    def show(result: runner.Result) -> None:
        if saved:
            print(json.dumps([result.test, result.outcome, result.message, result.seconds]), file=saved, flush=True)
        for line in expected.surprises([result], listed):
            print(line, flush=True)

    found = runner.run(options.tests or runner.modules(), options.jobs, show).values()
    wrong = expected.surprises(found, listed)
    if not options.tests:
        wrong += (gone := expected.gone(found, listed))
        print(*gone, sep="\n", end="\n" if gone else "")
    summarize(found, len(wrong), time.monotonic() - began)
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream", description=__doc__,
        epilog="Exit status: 0 where every test ended as listed in non_passes.toml, 1 where one did not.")
    parser.add_argument("tests", nargs="*", help="cudapy/test_array.py, cudapy/test_sm.py::TestSharedMemory, …; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="child processes at a time (default: %(default)s)")
    parser.add_argument("--save", help="write every result to this file, one JSON array a line")
    return parser.parse_args()


def summarize(found: list[runner.Result], wrong: int, seconds: float) -> None:
    counts = collections.defaultdict(collections.Counter)
    for result in found:
        for row in (result.test.partition("/")[0], "all"):
            counts[row][result.outcome] += 1
    for row in sorted(counts, key=lambda row: (row == "all", row)):
        parts = ", ".join(f"{count} {outcome}" for outcome, count in counts[row].most_common())
        print(f"{row}: {counts[row].total()} tests: {parts}")
    if said := expected.other_version():
        print(said)
    print(f"{wrong or 'none'} not as listed in {expected.LIST.name}; {seconds:.0f} s")


if __name__ == "__main__":
    raise SystemExit(main())
