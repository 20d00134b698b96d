"""``python -m tests.upstream``: numba-cuda's own tests on the emulated device, against the list of those that do not pass.

With ``--check race,init,sync`` checkers look at every launch, and what they find is compared with a list too.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import time

from tests.upstream import expected, findings, runner


def main() -> int:
    options = arguments()
    began = time.monotonic()
    listed, known = expected.read(), findings.read()
    saved = open(options.save, "w", encoding="utf-8") if options.save else None

    def surprises(results: list[runner.Result]) -> list[str]:
        checked = findings.surprises(results, known, options.check) if options.check else []
        return expected.surprises(results, listed) + checked

    def show(result: runner.Result) -> None:
        if saved:
            row = [result.test, result.outcome, result.message, result.seconds]
            print(json.dumps(row + [result.launches, result.findings] if options.check else row), file=saved, flush=True)
        for line in surprises([result]):
            print(line, flush=True)

    found = runner.run(options.tests or runner.modules(), options.jobs, show, options.check).values()
    wrong = surprises(found)
    if not options.tests:
        wrong += (gone := expected.gone(found, listed) + (findings.gone(found, known) if options.check else []))
        print(*gone, sep="\n", end="\n" if gone else "")
    summarize(found, len(wrong), time.monotonic() - began, options.check)
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.upstream", description=__doc__,
        epilog="Exit status: 0 where all ended as listed in non_passes.toml, with the findings of findings.toml; else 1.")
    parser.add_argument("tests", nargs="*", help="cudapy/test_array.py, cudapy/test_sm.py::TestSharedMemory, …; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="child processes at a time (default: %(default)s)")
    parser.add_argument("--save", help="write every result to this file, one JSON array a line")
    parser.add_argument("--check", type=checkers, default="", metavar="CHECKS",
                        help=f"run every test under these checkers: {','.join(findings.CHECKS)}; what a test launches in a "
                             "process of its own is not checked")
    return parser.parse_args()


def checkers(text: str) -> str:
    """Their names without blanks. Raises ArgumentTypeError for others."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not set(names) <= set(findings.CHECKS):
        raise argparse.ArgumentTypeError(f"{text!r}: the checkers are {', '.join(findings.CHECKS)}")
    return ",".join(names)


def summarize(found: list[runner.Result], wrong: int, seconds: float, check: str) -> None:
    counts = collections.defaultdict(collections.Counter)
    for result in found:
        for row in (result.test.partition("/")[0], "all"):
            counts[row][result.outcome] += 1
    for row in sorted(counts, key=lambda row: (row == "all", row)):
        parts = ", ".join(f"{count} {outcome}" for outcome, count in counts[row].most_common())
        print(f"{row}: {counts[row].total()} tests: {parts}")
    if check:
        kinds = collections.Counter(kind for result in found for kind in {one["kind"] for one in result.findings})
        parts = ", ".join(f"{count} with {kind}" for kind, count in sorted(kinds.items())) or "nothing found"
        launched = [result.launches for result in found if result.launches]
        print(f"checked ({check}): {sum(launched)} launches of {len(launched)} tests: {parts}")
    if said := expected.other_version():
        print(said)
    lists = expected.LIST.name + (f" and {findings.LIST.name}" if check else "")
    print(f"{wrong or 'none'} not as listed in {lists}; {seconds:.0f} s")


if __name__ == "__main__":
    raise SystemExit(main())
