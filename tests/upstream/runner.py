"""Runs tests of the suite in child processes: a crash or an endless test costs that test alone."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "numba.cuda.tests"
FOLDERS = ("cudadrv", "cudapy", "doc_examples")
MODULES_PER_CHILD = 6               # starting Python, numba and pytest takes seconds
TEST_TIMEOUT_S = 400.0
START_TIMEOUT_S = 120.0             # until the first test, and after the last
POLL_S = 0.1
# Takes as much memory as the computer has, by design.
NOT_RUN = ("cudadrv/test_managed_alloc.py::TestManagedAlloc::test_managed_alloc_driver_undersubscribe",)
# Left out under checkers: 454 million random numbers take longer than a test may.
NOT_CHECKED = ("doc_examples/test_random.py::TestRandom::test_ex_3d_grid",)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """How one test ended. outcome: passed, failed, skipped, xfailed, crashed or timeout.

    launches, findings: under checkers, how many launches they looked at and what they saw: kind, places, text, kernel
    """

    test: str
    outcome: str
    message: str
    seconds: float
    launches: int = 0
    findings: Sequence[dict] = ()


def suite_folder() -> Path:
    """Where the installed numba-cuda keeps its tests."""
    import numba.cuda

    return Path(numba.cuda.__file__).parent / "tests"


def modules(folders: tuple[str, ...] = FOLDERS) -> list[str]:
    """Every module of the folders: "cudapy/test_array.py"."""
    return [f"{folder}/{path.name}" for folder in folders for path in sorted((suite_folder() / folder).glob("test_*.py"))]


def address(name: str) -> str:
    """"cudapy/test_array.py::TestCudaArray" -> the same for ``pytest --pyargs``."""
    module, separator, inside = name.partition("::")
    return f"{PACKAGE}.{module.removesuffix('.py').replace('/', '.')}{separator}{inside}"


def run(names: list[str], jobs: int, on_result=lambda result: None, check: str = "") -> dict[str, Result]:
    """Run modules, classes or tests, some per child process, ``jobs`` children at a time. check: names of checkers."""
    shards = [names[start:start + MODULES_PER_CHILD] for start in range(0, len(names), MODULES_PER_CHILD)]
    found: dict[str, Result] = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for results in pool.map(lambda shard: run_shard(shard, on_result, check), shards):
            found |= results
    return found


def run_shard(names: list[str], on_result=lambda result: None, check: str = "") -> dict[str, Result]:
    """Run modules, classes or tests in one child; after a crash or a timeout, the rest in another."""
    found = {test: Result(test, "skipped", "not run: it fills the computer's memory", 0.0) for test in NOT_RUN
             if test.partition("::")[0] in names}
    for result in found.values():
        on_result(result)
    with tempfile.TemporaryDirectory(prefix="upstream-") as folder:
        while True:
            child = Child(names, sorted({*found, *(NOT_CHECKED if check else ())}), Path(folder), check)
            lost, stuck = None, False
            for result in child.results():
                stuck = result.test in found        # a child that ended before its first test: the next one would too
                found[result.test] = lost = result
                on_result(result)
            if stuck or lost is None or lost.outcome not in ("crashed", "timeout"):
                return found


class Child:
    """One pytest process, watched through the lines that its plugin writes."""

    def __init__(self, names: list[str], finished: list[str], folder: Path, check: str) -> None:
        self.names = names
        self.report, done, self.output = folder / "report", folder / "finished", folder / "output"
        self.report.write_text("")
        done.write_text(json.dumps(finished))
        environment = os.environ | {
            "SIMT": "force", "SIMT_QUIET": "1", "UPSTREAM_REPORT": str(self.report), "UPSTREAM_FINISHED": str(done),
            "UPSTREAM_CHECK": check,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.upstream.plugin", "-p", "no:cacheprovider",
                   "-p", "no:randomly", "-o", "consider_namespace_packages=true", f"--rootdir={folder}", "--pyargs",
                   *map(address, names)]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, start_new_session=True,
                                        stdout=self.output.open("w"), stderr=subprocess.STDOUT)

    def results(self) -> Iterator[Result]:
        """Results as they come; the last one is crashed or timeout if the child did not reach its end."""
        running, since = None, time.monotonic()
        with self.report.open(encoding="utf-8") as lines:
            ended = False
            while not ended:
                ended = self.process.poll() is not None
                for fields in map(json.loads, lines.readlines()):
                    since = time.monotonic()
                    running = fields["test"] if fields["outcome"] == "started" else None
                    if running is None:
                        yield Result(**fields)
                waited = time.monotonic() - since
                if not ended and waited > (TEST_TIMEOUT_S if running else START_TIMEOUT_S):
                    self.kill()
                    yield Result(running or self.names[0], "timeout", f"no end after {waited:.0f} s", waited)
                    return
                if not ended:
                    time.sleep(POLL_S)
        self.kill()                     # what the tests started and left behind
        if self.process.returncode not in (0, 1, 5):
            yield Result(running or self.names[0], "crashed", self.last_words(), time.monotonic() - since)

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def last_words(self) -> str:
        lines = self.output.read_text(errors="replace").strip().splitlines()
        return f"exit status {self.process.returncode}: " + " | ".join(lines[-5:])[-400:]
