"""Run random kernels on the emulated device and compare with the oracle."""
from __future__ import annotations

import argparse
import collections
import sys
import time

from tests.fuzz.apart import Child
from tests.fuzz.generator import generate
from tests.fuzz.script import script
from tests.fuzz.shrink import length, shrunk
from tests.fuzz.tree import Program

FINE = {"", "agree", "NotCompiled"}
APART = ("crash", "Hang")   # failures that may take the process with them


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default 0)")
    parser.add_argument("--size", type=int, default=24, help="statements of a program, roughly (default 24)")
    parser.add_argument("--threads", type=int, help="worker threads of the device (default: one per core)")
    parser.add_argument("--counted", type=int, default=4, metavar="N",
                        help="run every N-th program a second time with all counters; 0 for none (default 4)")
    parser.add_argument("--shrink", type=float, default=120.0, metavar="S", help="seconds to shrink a failure; 0 to leave it")
    parser.add_argument("--show", type=int, metavar="SEED", help="print one program as a script and stop")
    return parser.parse_args()


def report(child: Child, program: Program, kind: str, details: str, shrink_s: float) -> None:
    print(f"program {program.seed}: {kind}: {details.splitlines()[0] if details else ''}", flush=True)
    if shrink_s and kind != "BadProgram":
        limit = shrink_s * (5 if kind in APART else 1)
        program = shrunk(program, lambda candidate: child.run(candidate)[0] == kind, limit)
        details = child.run(program)[1] or details
    print(f"\n# {'-' * 20} {length(program)} lines\n{script(program, f'{kind}: {details}')}# {'-' * 20}\n", flush=True)


def main() -> int:
    options = arguments()
    if options.show is not None:
        print(script(generate(options.show, options.size)))
        return 0
    child, start = Child(options.threads, options.counted), time.monotonic()
    kinds: collections.Counter[str] = collections.Counter()
    for seed in range(options.seed, options.seed + options.programs):
        program = generate(seed, options.size)
        kind, details = child.run(program)
        kinds[kind or "agree"] += 1
        if kind not in FINE:
            report(child, program, kind, details, options.shrink)
        if (seed - options.seed) % 25 == 24:
            print(f"{seed - options.seed + 1} of {options.programs}: {dict(kinds)}", file=sys.stderr, flush=True)
    child.close()
    print(f"{options.programs} programs from seed {options.seed}, size {options.size}: {dict(kinds)} "
          f"in {time.monotonic() - start:.0f} s")
    return 1 if set(kinds) - FINE else 0


if __name__ == "__main__":
    sys.exit(main())
