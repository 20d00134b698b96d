"""Runs kept cases on whatever ``simt`` this process finds; no Numba, no oracle.

python -m tests.fuzz.replay CASES     CASES: a file that mutants.py wrote. Prints the first failing seed; exit status 1 for one.
"""
from __future__ import annotations

import pickle
import sys
from pathlib import Path

from tests.fuzz.runner import Case, problem


def first_failure(cases: list[Case]) -> tuple[int, str] | None:
    """(how many cases it took, what is wrong), or None where all agree."""
    for count, case in enumerate(cases, 1):
        kind, details = problem(case)
        if kind:
            return count, f"seed {case.seed}: {kind}: {(details.splitlines() or [''])[0]}"
    return None


if __name__ == "__main__":
    found = first_failure(pickle.loads(Path(sys.argv[1]).read_bytes()))
    if found:
        print(*found)
        sys.exit(1)
