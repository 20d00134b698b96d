"""See the package's docstring."""
from __future__ import annotations

import argparse
import collections
import json
import os
import time

from tests.upstream import runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.upstream",
                                     description="numba-cuda's own tests on the emulated device")
    parser.add_argument("modules", nargs="*", help="such as cudapy/test_array.py; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="child processes at a time")
    parser.add_argument("--save", help="write every result to this JSON file")
    options = parser.parse_args()
    began = time.monotonic()

    saved = open(options.save, "w", encoding="utf-8") if options.save else None

    def show(result: runner.Result) -> None:
        if saved:
            print(json.dumps([result.test, result.outcome, result.message, result.seconds]), file=saved, flush=True)
        if result.outcome in ("failed", "crashed", "timeout"):
            said = result.message.splitlines()[0] if result.message else ""
            print(f"{result.outcome:8} {result.test}\n         {said}", flush=True)

    found = runner.run(options.modules or runner.modules(), options.jobs, show)
    by_folder = collections.defaultdict(collections.Counter)
    for result in found.values():
        by_folder[result.test.partition("/")[0]][result.outcome] += 1
    for folder, counts in by_folder.items():
        print(folder, dict(counts))
    print(f"{time.monotonic() - began:.0f} s")
    return 0


raise SystemExit(main())
