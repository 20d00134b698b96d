"""Launches that are known to be short run on the launching thread: no thread is woken, no lock changes hands.

The first launch of a kernel on a grid goes through the pool. If it took less than SHORT_S, later ones of the same shape run
here. Ctrl-C still stops them: Python's signal handler writes to a pipe (``signal.set_wakeup_fd``), and a guard thread that
reads it raises the launch's stop flag.
"""
from __future__ import annotations

import ctypes
import os
import signal
import threading
from _signal import getsignal  # signal.getsignal makes an Enum of its answer, which takes longer than a launch
from collections.abc import Callable

import numpy as np

from simt.jit.context import INDEX

SIGINT, SIGALRM = int(signal.SIGINT), int(signal.SIGALRM)
QUIET = (int(signal.SIG_DFL), int(signal.SIG_IGN))
SHORT_S = 0.002
MAIN = threading.main_thread().ident
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

    def run(self, work: Callable[[], None], stop: np.ndarray) -> bool:
        """Do the work, stopped through ``stop`` by Ctrl-C. False, with nothing done, where the program has other plans with its
        signals: then the launch belongs to the pool."""
        if threading.get_ident() != MAIN:
            work()
            return True
        if getsignal(SIGINT) is not signal.default_int_handler or getsignal(SIGALRM) not in QUIET:
            return False
        self.stop, before = stop, signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        try:
            if before == -1:
                work()
            return before == -1
        finally:
            signal.set_wakeup_fd(before)
            self.stop = None


class QuickLaunch:
    """A prepared pass over all blocks of a grid with one worker, to be run again with other parameters."""

    def __init__(self, one):
        self.one = one
        self.worker, self.launch = one.workers[0], one.launch
        self.params_address = self.launch.params.ctypes.data
        self.has_local = self.worker.machine.layout.local_bytes > 0

    def run(self, params: bytes, table: tuple, serial: int, guard: Guard) -> bool:
        """Run; False if it must go through the pool. After True, ``worker.failed`` and the stop flag tell how it ended."""
        launch, worker = self.launch, self.worker
        ctypes.memmove(self.params_address, params, len(params))
        launch.next_block[0] = launch.stop[0] = 0
        if table[2] != worker.table_version or self.has_local:
            launch.table = table
            worker.prepare(launch)
        worker.context[INDEX["grid_id"]] = serial
        return guard.run(worker.run, launch.stop)
