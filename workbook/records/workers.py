"""Counts on several emulated devices: one process for each compute capability, since numba compiles for one only."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbook.failure import Failure
from workbook.records import files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbook.records.schema import Document

ROOT = files.FOLDER.parent
MARK = "record: "


class Lost(RuntimeError):
    """A process that ended before it had told its counts."""


@dataclasses.dataclass(frozen=True)
class Counted:
    """One device's record of one family, whether to be written or to be compared; what failed on the way."""

    document: Document
    failures: list[tuple[str, Failure]]


Plan = dict[str, list[str]]  # family -> names of its ladders


def count(plan: Plan, devices: Sequence[str], prove: bool, watch: Callable[[str], None]) -> Iterator[Counted]:
    """The records of these devices, as they are ready; of devices of one compute capability, the first one proves."""
    groups = by_capability(devices)
    if len(groups) == 1:
        yield from here(plan, groups[0], prove, watch)
        return
    running = _Running()
    with concurrent.futures.ThreadPoolExecutor(max(1, min(len(groups), os.cpu_count() or 1))) as pool:
        jobs = [pool.submit(_elsewhere, plan, group, prove, running) for group in groups]
        try:
            for job in concurrent.futures.as_completed(jobs):
                yield from job.result()
        finally:
            for job in jobs:
                job.cancel()
            running.stop()


def by_capability(devices: Sequence[str]) -> list[list[str]]:
    """Groups of devices for which numba compiles the same code. Raises ValueError for an unknown name."""
    from simt import model

    groups: dict[tuple[int, int], list[str]] = {}
    for name in devices:
        groups.setdefault(model.load(name).compute_capability, []).append(name)
    return list(groups.values())


def here(plan: Plan, devices: Sequence[str | None], prove: bool, watch: Callable[[str], None]) -> Iterator[Counted]:
    """The same in this process, for devices of one compute capability; None is whatever device there is."""
    from kernels.ladder import load_ladder
    from workbook import target
    from workbook.records import recording

    failed: dict[str, list[tuple[str, Failure]]] = {family: [] for family in plan}
    for index, device in enumerate(devices):
        chosen = target.choose(device)
        for family, names in plan.items():
            made = recording.make(
                [load_ladder(name) for name in names],
                chosen,
                prove=prove and index == 0,
                without={step for step, _ in failed[family]},
                watch=lambda text, key=chosen.key: watch(f"{key} {text}"),
            )
            made.failures[:0] = failed[family]
            failed[family] = made.failures
            yield Counted(recording.document(family, chosen, made), made.failures)


class _Running:
    """The processes at work, and an end to all of them."""

    def __init__(self) -> None:
        self._lock, self._stopped = threading.Lock(), False
        self._processes: list[subprocess.Popen] = []

    def start(self, command: list[str], **options: Any) -> subprocess.Popen:
        with self._lock:
            if self._stopped:
                raise Lost("stopped before it began")
            process = subprocess.Popen(command, **options)
            self._processes.append(process)
        return process

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()


def _elsewhere(plan: Plan, devices: list[str], prove: bool, running: _Running) -> list[Counted]:
    env = {**os.environ, "SIMT": "force", "SIMT_DEVICE": devices[0], "SIMT_QUIET": "1"}
    process = running.start(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the parent, which ends this one
    )
    told, complaint = process.communicate(json.dumps({"plan": plan, "devices": devices, "prove": prove}))
    lines = [line.removeprefix(MARK) for line in told.splitlines() if line.startswith(MARK)]
    if process.returncode or len(lines) != len(devices) * len(plan):
        last = complaint.strip().splitlines()[-1:] or ["it said nothing"]
        raise Lost(f"counting on {', '.join(devices)} ended with exit code {process.returncode}: {last[0]}")
    answers = [json.loads(line) for line in lines]
    return [Counted(answer["document"], [(step, _failure(told)) for step, told in answer["failures"]]) for answer in answers]


def _failure(told: dict[str, Any]) -> Failure:
    return Failure(**{**told, "lines": tuple(told["lines"])})


def main() -> None:
    """The process of one compute capability: its task on stdin, one line for each record on stdout."""
    task = json.load(sys.stdin)
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # kernels may print
        for counted in here(task["plan"], task["devices"], task["prove"], lambda text: None):
            failures = [(step, dataclasses.asdict(failure)) for step, failure in counted.failures]
            print(MARK + json.dumps({"document": counted.document, "failures": failures}), file=out, flush=True)


if __name__ == "__main__":
    main()
