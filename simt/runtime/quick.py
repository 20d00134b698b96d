"""Launches that are known to be short run on the launching thread: no thread is woken, no lock changes hands.

The first launch of a kernel on a grid goes through the pool. If it took less than SHORT_S, later ones of the same shape run
here. Ctrl-C still stops them: Python's signal handler writes to a pipe (``signal.set_wakeup_fd``), and a guard thread that
reads it raises the launch's stop flag.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from _signal import getsignal  # signal.getsignal makes an Enum of its answer, which takes longer than a launch
from collections.abc import Iterator

import numpy as np

SIGINT, SIGALRM = int(signal.SIGINT), int(signal.SIGALRM)
QUIET = (int(signal.SIG_DFL), int(signal.SIG_IGN))
SHORT_S = 0.002
LIMIT = 256                 # remembered launch shapes


class Guard:
    """Turns Ctrl-C into a stop flag while the main thread is in native code."""

    def __init__(self):
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.writer, False)
        self.stop: np.ndarray | None = None
        threading.Thread(target=self.serve, name="simt-guard", daemon=True).start()

    def serve(self) -> None:
        while True:
            numbers = os.read(self.reader, 64)
            stop = self.stop
            if stop is not None and SIGINT in numbers:
                stop[0] = 1

    @contextlib.contextmanager
    def watching(self, stop: np.ndarray) -> Iterator[bool]:
        """Yields False where the program has other plans with its signals: then the launch belongs to the pool."""
        if threading.current_thread() is not threading.main_thread():
            yield True
            return
        if getsignal(SIGINT) is not signal.default_int_handler or getsignal(SIGALRM) not in QUIET:
            yield False
            return
        self.stop, before = stop, signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        try:
            if before != -1:
                signal.set_wakeup_fd(before)
            yield before == -1
        finally:
            if before == -1:
                signal.set_wakeup_fd(-1)
            self.stop = None


class QuickLaunch:
    """A prepared pass over all blocks of a grid with one worker, to be run again with other parameters."""

    def __init__(self, one):
        self.one = one
        self.worker, self.launch = one.workers[0], one.launch
        self.has_local = self.worker.machine.layout.local_bytes > 0

    def run(self, params: bytes, table: tuple, serial: int, guard: Guard) -> bool:
        """Run; False if it must go through the pool. After True, ``worker.failed`` and the stop flag tell how it ended."""
        launch, worker = self.launch, self.worker
        ctypes.memmove(launch.params.ctypes.data, params, len(params))
        launch.next_block[0] = launch.stop[0] = 0
        if table[2] != worker.table_version or self.has_local:
            launch.table = table
            worker.prepare(launch)
        worker.set(grid_id=serial)
        with guard.watching(launch.stop) as allowed:
            if allowed:
                worker.run()
        return allowed
