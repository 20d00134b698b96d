"""``python -m benchmarks [kernels|device] [--runs N]``: time every case, print the figures and whether each keeps its bar.

kernels  a kernel on the emulated device, on one thread, against Numba on the CPU
device   what launching, compiling and checking cost, and what a second thread gains
"""
from __future__ import annotations

import argparse
import os
import sys
import warnings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("kernels", "device"), help="one of the two; both without it")
    parser.add_argument("--runs", type=int, default=9, help="paired runs of each case")
    options = parser.parse_args()
    import simt

    simt.enable("force")
    warnings.filterwarnings("ignore", category=Warning, module="numba")
    parts = {"kernels": kernels, "device": device}
    kept = [parts[name](options.runs) for name in ([options.part] if options.part else parts)]
    return 0 if all(kept) else 1


def kernels(runs: int) -> bool:
    from benchmarks.cases import all_benchmarks
    from benchmarks.pairs import measure

    os.environ["SIMT_THREADS"] = "1"
    print(f"{'case':28}{'ours ms':>10}{'njit ms':>10}{'median ratio':>14}{'best ratio':>12}{'bar':>6}")
    kept = True
    for benchmark in all_benchmarks():
        pair = measure(benchmark.ours, benchmark.theirs, runs)
        ours_ms, theirs_ms = min(pair.ours_s) * 1e3, min(pair.theirs_s) * 1e3
        bar = "" if benchmark.bar is None else f"{benchmark.bar:.1f}"
        verdict = "" if benchmark.bar is None or pair.ratio <= benchmark.bar else "  over its bar"
        kept = kept and not verdict
        print(f"{benchmark.name:28}{ours_ms:10.1f}{theirs_ms:10.1f}{pair.ratio:14.2f}{pair.best_ratio:12.2f}{bar:>6}{verdict}")
    del os.environ["SIMT_THREADS"]
    return kept


def device(runs: int) -> bool:
    from benchmarks.device import figures

    print(f"{'figure':48}{'median':>10}     {'bar':>6}")
    kept = True
    for figure in figures(runs):
        bar = "" if figure.bar is None else f"{figure.bar:g}"
        verdict = "" if figure.kept else "  under its bar" if figure.least else "  over its bar"
        kept = kept and figure.kept
        print(f"{figure.name:48}{figure.value:10.2f} {figure.unit:3} {bar:>6}{verdict}", flush=True)
    return kept


if __name__ == "__main__":
    sys.exit(main())
