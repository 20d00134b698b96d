"""``python -m benchmarks [--runs N]``: time every case, print the ratios and whether each keeps its bar."""
from __future__ import annotations

import argparse
import os
import sys
import warnings

os.environ.setdefault("SIMT_THREADS", "1")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="paired runs of each case")
    runs = parser.parse_args().runs
    import simt

    simt.enable("force")
    warnings.filterwarnings("ignore", category=Warning, module="numba")
    from benchmarks.cases import all_benchmarks
    from benchmarks.pairs import measure

    print(f"{'case':28}{'ours ms':>10}{'njit ms':>10}{'median ratio':>14}{'best ratio':>12}{'bar':>6}")
    kept = True
    for benchmark in all_benchmarks():
        pair = measure(benchmark.ours, benchmark.theirs, runs)
        ours_ms, theirs_ms = min(pair.ours_s) * 1e3, min(pair.theirs_s) * 1e3
        bar = "" if benchmark.bar is None else f"{benchmark.bar:.1f}"
        verdict = "" if benchmark.bar is None or pair.ratio <= benchmark.bar else "  over its bar"
        kept = kept and not verdict
        print(f"{benchmark.name:28}{ours_ms:10.1f}{theirs_ms:10.1f}{pair.ratio:14.2f}{pair.best_ratio:12.2f}{bar:>6}{verdict}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
