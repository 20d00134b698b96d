"""What a learner reads when a kernel is wrong: the right CUDA error, the line, the thread, the numbers, what to do.

Every fault leaves the process, memory and the next launch as they were. In an access of which one lane is out of bounds, the
lanes before it may have stored: a GPU promises no order either. Nothing outside an array is ever written.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from cuda.core._utils.cuda_utils import CUDAError
from numba import cuda, float32

from simt.driver.session import current

pytestmark = pytest.mark.usefixtures("emulated")
ILLEGAL, FAILED, INVALID = "ILLEGAL_ADDRESS", "LAUNCH_FAILED", "INVALID_VALUE"
TABLE = np.arange(10, dtype=np.float32)
MANY = 44


@dataclasses.dataclass(frozen=True)
class Broken:
    """A kernel and a launch that fails. shape: of both arrays; numbers: further arguments; says: parts of the lesson."""

    kernel: Callable
    code: str
    says: tuple[str, ...]
    grid: int | tuple = 1
    block: int | tuple = 32
    shape: tuple[int, ...] = (32,)
    numbers: tuple = ()
    dynamic: int = 0
    watchdog_s: str = ""


def or_equal(a, out):
    i = cuda.grid(1)
    if i <= a.size:
        out[i] = 2 * a[i]


def unguarded(a, out):
    i = cuda.grid(1)
    if i >= a.size + 5:
        out[i] = 1


def whole_tiles(a, out):
    row, col = cuda.grid(2)
    out[row, col] = a[row, col] + 1


def row_below(a, out):
    row, col = cuda.grid(2)
    if row < a.shape[0] and col < a.shape[1]:
        out[row, col] = a[row + 1, col]


def to_the_left(a, out):
    i = cuda.grid(1)
    out[i] = a[i - 33]


def far(a, out, distance):
    out[cuda.grid(1)] = a[distance]


@cuda.jit
def pick(values, i):
    return values[i]


def through_a_function(a, out):
    i = cuda.grid(1)
    out[i] = pick(a, i + 1)


def scatter(a, out):
    cuda.atomic.add(out, cuda.grid(1) + 1, a[0])


def shared_halo(a, out):
    tile = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    cuda.syncthreads()
    out[i] = tile[i] + tile[i + 1]


def dynamic_tile(a, out):
    tile = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    tile[i] = a[i]
    cuda.syncthreads()
    out[i] = tile[31 - i]


def local_stack(a, out, depth):
    stack = cuda.local.array(8, float32)
    for k in range(depth):
        stack[k] = a[k]
    out[cuda.grid(1)] = stack[depth // 2]


def constant_table(a, out, index):
    table = cuda.const.array_like(TABLE)
    out[cuda.grid(1)] = table[index]


def barrier_per_branch(a, out):
    i = cuda.threadIdx.x
    if i % 2 == 0:
        cuda.syncthreads()
        out[i] = 1
    else:
        out[i] = 2
        cuda.syncthreads()


def barrier_per_warp(a, out):
    i = cuda.threadIdx.x
    if i < 32:
        cuda.syncthreads()
    else:
        out[i] = 1
        cuda.syncthreads()
        out[i] = 2
        cuda.syncthreads()
    cuda.syncthreads()


def shuffle_in_a_branch(a, out):
    i = cuda.threadIdx.x
    value = a[i]
    if i < 20:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
    else:
        value *= 2
    out[i] = value


def shuffle_of_nobody(a, out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_down_sync(0, a[i], 1)


def modest(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i]


def greedy(a, out, rounds):
    i = cuda.grid(1)
    held = cuda.local.array(MANY, float32)
    for k in range(MANY):
        held[k] = a[(i + k) % a.size]
    for _ in range(rounds):
        for k in range(MANY):
            held[k] = held[k] * held[(k + 1) % MANY] + 1
    total = float32(0)
    for k in range(MANY):
        total += held[k]
    out[i] = total


def forever(a, out):
    i = cuda.grid(1)
    while a[0] == 1:
        out[i] += a[0]


BROKEN = {
    "a guard with <= ": Broken(or_equal, ILLEGAL, (
        "kernel or_equal: read out of bounds", "out[i] = 2 * a[i]", "by block (1, 0, 0), thread (8, 0, 0): cuda.grid(1) is 40",
        "a[40], but a has shape (40,): the last index is 39", "4 bytes past the end of the 160 bytes of a",
        "Off by one element", "the launch has 64 threads on x", "says <= where < is meant"), grid=2, shape=(40,)),
    "no guard": Broken(unguarded, ILLEGAL, (
        "write out of bounds", "out[45], but out has shape (40,)", "24 bytes past the end of the 160 bytes of out",
        "the launch has 64 threads on x for 40 elements; the ones beyond need `if x < out.shape[0]`"), grid=2, shape=(40,)),
    "whole tiles over a ragged array": Broken(whole_tiles, ILLEGAL, (
        "a[20, 0], but a has shape (20, 30): the last index of axis 0 is 19", "cuda.grid(2) is (20, 0)",
        "a[19, 30] would lie there too, if it is axis 1 that is out of range", "Off by one row: this thread's x"),
        grid=(2, 2), block=(16, 16), shape=(20, 30)),
    "the row below the last": Broken(row_below, ILLEGAL, (
        "a[20, 0], but a has shape (20, 30)", "4 bytes past the end of the 2400 bytes of a",
        "Off by one row: the kernel asks for the row after the last one"), grid=(2, 2), block=(16, 16), shape=(20, 30)),
    "an index below -n": Broken(to_the_left, ILLEGAL, (
        "a[-1], but a has shape (32,): index -1 is before its start", "4 bytes before the start of the 128 bytes of a",
        "Indices from -1 to -32 count from the end, once; what the kernel asked for, if its index is signed, is -33")),
    "far off, near another array": Broken(far, ILLEGAL, (
        "a[1100], but a has shape (32,)", "4276 bytes past the end of the 128 bytes of a"), numbers=(1100,)),
    "far below": Broken(far, ILLEGAL, ("a[-1000], but a has shape (32,)",), numbers=(-1032,)),
    "inside a device function": Broken(through_a_function, ILLEGAL, (
        "return values[i]", "called from ", "a[32], but a has shape (32,)", "Off by one element")),
    "an atomic": Broken(scatter, ILLEGAL, ("atomic update out of bounds", "out[32], but out has shape (32,)")),
    "shared memory": Broken(shared_halo, ILLEGAL, (
        "out[i] = tile[i] + tile[i + 1]", "thread (31, 0, 0)",
        "byte offset 128 of 128 bytes of shared memory; 4 bytes asked for",
        "index 32, counted in elements of 4 bytes; the array has 32", "place in the block or in the grid")),
    "dynamic shared memory": Broken(dynamic_tile, ILLEGAL, (
        "thread (16, 0, 0)", "index 16, counted in elements of 4 bytes; the launch asks for 64 bytes of dynamic shared memory: "
        "kernel[grid, block, stream, bytes]"), dynamic=64),
    "local memory": Broken(local_stack, ILLEGAL, (
        "stack[k] = a[k]", "byte offset 32 of 32 bytes of local memory", "index 8, counted in elements of 4 bytes"),
        numbers=(10,)),
    "constant memory": Broken(constant_table, ILLEGAL, (
        "out[cuda.grid(1)] = table[index]", "index 10 of a constant array of 10 elements of 4 bytes: the last index is 9"),
        numbers=(10,)),
    "a barrier in each branch": Broken(barrier_per_branch, FAILED, (
        "threads of one warp wait at different barriers", "lanes 0, 2, 4, 6,", "lanes 1, 3, 5, 7,",
        "in warp 0 of block (0, 0, 0)", "every thread of a block must reach the same syncthreads()")),
    "a barrier more in one warp": Broken(barrier_per_warp, FAILED, (
        "threads of one block wait at different barriers", "some warps at", "others at", "in block (0, 0, 0)"),
        block=64, shape=(64,)),
    "a shuffle in a branch": Broken(shuffle_in_a_branch, FAILED, (
        "shfl_down_sync (PTX shfl.sync.down.b32): a named lane does not arrive", "value += cuda.shfl_down_sync",
        "lanes 20-31 are named in the mask 0xffffffff and have not ended, but go another way",
        "name only the threads that take this branch")),
    "a shuffle with an empty mask": Broken(shuffle_of_nobody, FAILED, (
        "shfl_down_sync", "outside its own mask", "lanes 0-31 execute it but are not in their own mask 0x00000000")),
    "too many threads": Broken(modest, INVALID, ("32 x 32 x 2 = 2048 threads; a block has at most 1024",), block=(32, 32, 2)),
    "a block too deep": Broken(modest, INVALID, ("block.z = 65", "axis z holds at most 64 threads"), block=(1, 1, 65)),
    "a grid too high": Broken(modest, INVALID, (
        "grid.y = 65536", "axis y holds at most 65535 blocks", "Put the longest dimension on x"), grid=(1, 65536)),
    "too much dynamic shared memory": Broken(modest, INVALID, (
        "300000 B of dynamic shared memory", "may ask for 49152 B", "the h100 has no more than 232448 B"), dynamic=300_000),
    "too many registers": Broken(greedy, "OUT_OF_RESOURCES", (
        "kernel greedy", " registers x 1024 threads = ", "> 65536", "max_registers=64", "launch at most "), block=1024,
        shape=(1024,), numbers=(3,)),
    "an endless loop": Broken(forever, "LAUNCH_TIMEOUT", (
        "kernel forever: still running after 0.3 s (SIMT_WATCHDOG_S)", "block (0, 0, 0) was going round at", "test_lessons.py"),
        watchdog_s="0.3"),
}


@pytest.fixture(scope="module")
def compiled():
    """The kernel of a function, compiled once."""
    made: dict[Callable, object] = {}

    def get(function: Callable) -> object:
        return made.setdefault(function, cuda.jit(function))

    return get


@pytest.fixture
def guards():
    """Arrays made before and after those under test: what lies around them."""
    before = [cuda.to_device(np.full(64, 7, np.int32)) for _ in range(3)]
    yield before
    for array in before:
        assert (array.copy_to_host() == 7).all()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kernel_is_a_lesson_and_leaves_the_rest_alone(name, compiled, guards, monkeypatch):
    case = BROKEN[name]
    kernel = compiled(case.kernel)
    a, out = cuda.to_device(np.ones(case.shape, np.float32)), cuda.to_device(np.zeros(case.shape, np.float32))
    used = current().memory.used_bytes
    if case.watchdog_s:
        monkeypatch.setenv("SIMT_WATCHDOG_S", case.watchdog_s)
    for attempt in range(2):        # the second time the kernel is compiled already
        with pytest.raises(CUDAError, match=case.code) as failed:
            kernel[case.grid, case.block, 0, case.dynamic](a, out, *case.numbers)
        note, = failed.value.__notes__
        assert [part for part in case.says if part not in note] == [], (attempt, note)
        if case.code in (ILLEGAL, FAILED):
            assert "test_lessons.py:" in note and "what to do: " in note
    monkeypatch.delenv("SIMT_WATCHDOG_S", raising=False)
    assert (a.copy_to_host() == 1).all()
    fine, zeros = compiled(modest), cuda.to_device(np.zeros(a.size, np.float32))
    fine[-(-a.size // 128), 128](a.ravel(), zeros)
    assert (zeros.copy_to_host() == 1).all()
    assert current().memory.used_bytes <= used + zeros.size * 4 + 64


def test_memory_freed_while_a_kernel_still_has_its_address_is_told_as_freed(compiled, guards):
    class Stale:
        """Somebody else's array whose owner has gone."""

    array = cuda.device_array(32, np.float32)
    Stale.__cuda_array_interface__ = dict(array.__cuda_array_interface__)
    out = cuda.device_array(32, np.float32)
    del array
    cuda.current_context().memory_manager.deallocations.clear()
    with pytest.raises(CUDAError, match=ILLEGAL) as failed:
        compiled(modest)[1, 32](cuda.as_cuda_array(Stale), out)
    note, = failed.value.__notes__
    assert "the address lies in an array of 128 bytes that was freed before the launch" in note
    assert "keep a device array referenced while kernels use it" in note


def test_lanes_before_a_stray_one_may_have_stored_and_no_byte_beside_the_array_has_changed(compiled, guards):
    out = cuda.to_device(np.zeros(40, np.float32))
    with pytest.raises(CUDAError):
        compiled(or_equal)[2, 32](cuda.to_device(np.ones(40, np.float32)), out)
    assert set(out.copy_to_host()) <= {0, 2}


def test_two_names_of_one_array_are_both_told_when_the_code_does_not_say_which(compiled):
    @cuda.jit(debug=True, opt=False)
    def shifted(a, b):
        i = cuda.grid(1)
        a[i] = b[i + 20]

    array = cuda.to_device(np.zeros(32, np.float32))
    with pytest.raises(CUDAError, match=ILLEGAL) as failed:
        shifted[1, 32](array, array)
    assert "a (the same memory as b)[32], but" in failed.value.__notes__[0]


def test_a_pointer_that_is_no_array_is_told_with_what_it_points_to(guards):
    @cuda.jit("void(int32, CPointer(float32), int32)")
    def store(value, target, index):
        target[index] = value

    array = cuda.to_device(np.zeros(10, np.float32))
    address = array.__cuda_array_interface__["data"][0]
    store[1, 1](3, address, 9)
    assert array.copy_to_host()[9] == 3
    for index in (10, -1, 5000):
        with pytest.raises(CUDAError, match=ILLEGAL) as failed:
            store[1, 1](3, address, index)
        assert f"byte offset {4 * index} from the pointer target, which points to 40 bytes" in failed.value.__notes__[0]
