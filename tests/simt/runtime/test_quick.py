"""Short launches on the launching thread: the same results and faults, and Ctrl-C all the same."""
from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from simt.runtime.faults import Fault

# Goes round while the flag is 0; then adds 1 to the cell.
WAITING = """
LOOP: ld.volatile.global.u32 %r1, [%a0];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra LOOP;
ld.global.u32 %r2, [%a1]; add.u32 %r2, %r2, 1; st.global.u32 [%a1], %r2;
"""
ONE = dict(grid=(1, 1, 1), block=(1, 1, 1))


@pytest.fixture
def short(bench, monkeypatch):
    """A kernel whose launches are known to be short, and the addresses of its flag (set) and its cell (0)."""
    monkeypatch.setattr("simt.runtime.launcher.SHORT_S", 10.0)
    kernel = bench.kernel(WAITING, 2)
    flag, cell = bench.put(np.ones(1, np.uint32)), bench.put(np.zeros(1, np.uint32))
    kernel.launch([flag, cell], **ONE)
    assert len(kernel.program.quick) == 1
    yield kernel, flag, cell
    bench.memory.free(flag)
    bench.memory.free(cell)


def at(address: int) -> np.ndarray:
    """The 32-bit cell at a device address."""
    import ctypes

    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint32)), (1,))


def test_they_give_what_the_first_one_gave(short):
    kernel, flag, cell = short
    for _ in range(5):
        kernel.launch([flag, cell], **ONE)
    assert at(cell)[0] == 6


def test_they_run_on_the_launching_thread(short, monkeypatch):
    kernel, flag, cell = short
    monkeypatch.setattr("simt.runtime.run.POOL", None)
    kernel.launch([flag, cell], **ONE)
    assert at(cell)[0] == 2


def test_an_array_freed_since_is_a_fault_and_the_next_launch_works(short, bench):
    kernel, flag, cell = short
    gone = bench.put(np.ones(1, np.uint32))
    kernel.launch([gone, cell], **ONE)
    bench.memory.free(gone)
    with pytest.raises(Fault, match="out of bounds") as failed:
        kernel.launch([gone, cell], **ONE)
    assert "freed" in failed.value.note
    kernel.launch([flag, cell], **ONE)
    assert at(cell)[0] == 3


def test_ctrl_c_ends_one_that_has_become_endless(short):
    kernel, flag, cell = short
    at(flag)[0] = 0
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel.launch([flag, cell], **ONE)
        time.sleep(1)
    assert time.monotonic() - began < 30
    at(flag)[0] = 1
    kernel.launch([flag, cell], **ONE)
    assert at(cell)[0] == 2


def test_a_program_with_handlers_of_its_own_keeps_worker_threads(short, monkeypatch):
    kernel, flag, cell = short
    used = []
    from simt.runtime.pool import POOL

    monkeypatch.setattr("simt.runtime.run.POOL", Spy(POOL, used))
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        kernel.launch([flag, cell], **ONE)
    finally:
        signal.signal(signal.SIGINT, before)
    assert used == [1] and at(cell)[0] == 2


class Spy:
    def __init__(self, pool, used):
        self.pool, self.used = pool, used

    def submit(self, size, task, done):
        self.used.append(1)
        self.pool.submit(size, task, done)
