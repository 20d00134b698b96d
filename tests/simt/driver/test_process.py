"""The emulated device as a part of a process: nothing grows, several threads launch, fork and exit leave no trace.

With ``LAUNCHES=10000`` in the environment the growth tests run at full length: what is checked is the same.
"""
from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda

from simt.driver import event_calls, libraries, stream_calls
from simt.driver.session import current

LAUNCHES = int(os.environ.get("LAUNCHES", 500))
PAGES = 512                 # 2 MiB: what the interpreter's own pools may take meanwhile
FILLED = 200                # numba keeps the last 128 streams that it made arguments of, and 10 handles to be freed together
SETTLED = 4000              # rounds after which allocators of the interpreter and of C hand out what they have
PENDING = 11


def resident_pages() -> int:
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1])


def handles() -> tuple[int, ...]:
    """Live handles of each kind, open files, threads, live allocations."""
    gc.collect()
    return (len(stream_calls.STREAMS), len(event_calls.EVENTS), len(libraries.LIBRARIES), len(libraries.KERNELS),
            len(os.listdir("/proc/self/fd")), threading.active_count(), len(current().memory.table()[0]))


def held_constant(work, times: int) -> None:
    """Run it a while to fill every pool, then ``times`` more: handles stay the same, memory too."""
    work(max(times // 10, FILLED, min(times, SETTLED)))
    cuda.current_context().memory_manager.deallocations.clear()
    before, pages = handles(), resident_pages()
    work(times)
    cuda.current_context().memory_manager.deallocations.clear()
    assert all(now <= then + PENDING for now, then in zip(handles(), before, strict=True))
    assert resident_pages() - pages < PAGES


def test_nothing_grows_over_many_launches(increment, cells):
    def work(times: int) -> None:
        for _ in range(times):
            increment[1, 64](cells)

    held_constant(work, LAUNCHES)


def test_nothing_grows_over_many_launches_that_fail(shift, cells):
    def work(times: int) -> None:
        for _ in range(times):
            with pytest.raises(CUDAError):
                shift[1, 64](cells, cells)

    held_constant(work, LAUNCHES // 5)


def test_nothing_grows_over_many_arrays_streams_and_events(increment):
    def work(times: int) -> None:
        for index in range(times):
            stream, event = cuda.stream(), cuda.event()
            array = cuda.to_device(np.zeros(64 + index % 1000, np.float32), stream=stream)
            increment[1, 64, stream](array)
            event.record(stream)

    held_constant(work, LAUNCHES // 3)


def test_several_threads_launch_at_once_and_a_fault_in_one_disturbs_no_other(increment, shift):
    arrays = [cuda.to_device(np.zeros(64, np.float32)) for _ in range(4)]
    wrong, notes = [], []
    start = threading.Barrier(5)

    def work(array) -> None:
        stream = cuda.stream()
        start.wait()
        try:
            for _ in range(50):
                increment[1, 64, stream](array)
        except BaseException as error:
            wrong.append(error)

    def fault() -> None:
        target = cuda.to_device(np.zeros(64, np.float32))
        start.wait()
        for _ in range(25):
            try:
                shift[1, 64](target, target)
            except CUDAError as error:
                notes.append(error.__notes__)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays] + [threading.Thread(target=fault)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [set(array.copy_to_host()) for array in arrays] == [{50.0}] * 4
    assert len(notes) == 25 and all(len(note) == 1 and "thread (63, 0, 0)" in note[0] for note in notes)


START = """
import warnings; warnings.simplefilter("ignore")
import simt; simt.enable("force", quiet=True)
"""
LIVE = """
import numpy as np
from numba import cuda

@cuda.jit
def fill(a):
    a[cuda.grid(1)] = 1

array = cuda.device_array(64)
stream, event, pinned, mapped = cuda.stream(), cuda.event(), cuda.pinned_array(8), cuda.mapped_array(8)
managed = cuda.managed_array(8)
fill[2, 32, stream](array)
event.record(stream)
"""
FORK = """
import os, sys
from cuda.bindings import driver
child = os.fork()
if not child:
    found = [int(driver.cuMemAlloc(16)[0]), int(driver.cuInit(0)[0])]
    try:
        fill[2, 32](array)
    except BaseException as error:
        found.append(type(error).__name__)
    print(*found, flush=True)
    os._exit(0)
os.waitpid(child, 0)
fill[2, 32](array)
print(array.copy_to_host().sum())
"""
ENDING = """
import threading
threading.Thread(target=fill[2, 32], args=(array,)).start()
try:
    fill[3, 32](array)
except Exception as error:
    kept = error
raise SystemExit(5)
"""


def test_a_forked_child_gets_error_3_and_its_parent_goes_on_and_ends_quietly_with_everything_alive(python):
    """Arrays, a stream, an event, pinned, mapped and managed memory; a fault that is kept, a thread that still launches."""
    done = python(START + LIVE + FORK + ENDING)
    assert (done.returncode, done.stderr) == (5, "")
    assert done.stdout == "3 3 CudaDriverError\n64.0\n"


def test_a_child_forked_before_the_first_cuda_call_has_a_device_of_its_own(python):
    done = python(START + """
import os
import numpy as np
from numba import cuda

if os.fork():
    os.wait()
array = cuda.to_device(np.arange(5))
array[1:3] = 7
print(array.copy_to_host().sum())
""")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "21\n21\n")
