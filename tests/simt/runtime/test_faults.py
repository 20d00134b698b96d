"""Faults: found before they do harm, told as lessons, and without consequences for the next launch."""
from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest

from simt.isa.table import Unsupported
from simt.runtime.faults import Fault

ILLEGAL, MISALIGNED, FAILED = 700, 716, 719
SOURCE = """# nothing
def scale(x, out, factor):
    value = x[index]
    out[index] = value
    add(out, index, value)
    return value
"""
READ, WRITE, ADD = 3, 4, 5
GUARD = 0x5A        # what lies around the array under test


def at(line: int, code: str) -> str:
    return f".loc 1 {line} 0\n{code}\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("kernel") / "scale.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.fixture(scope="module")
def access(bench, source):
    """access(what, offsets, …): the threads whose offset is not None access that byte of an array; returns the fault or None.

    The kernel's parameters are those of Numba: an array "x" and a number "factor", which says what to do.
    """
    body = f"""mad.lo.u32 %r9, %ctaid.x, %ntid.x, %tid.x; mul.wide.u32 %d9, %r9, 8; add.u64 %d8, %a10, %d9;
ld.global.s64 %d7, [%d8];
add.u64 %d8, %a11, %d9; ld.global.u64 %d6, [%d8]; setp.eq.u64 %p1, %d6, 0; @%p1 bra DONE; add.s64 %d5, %a4, %d7;
setp.ne.u64 %p2, %a9, {READ}; @%p2 bra TRY_WRITE;
{at(READ, "ld.global.u32 %r1, [%d5];")}
TRY_WRITE: setp.ne.u64 %p2, %a9, {WRITE}; @%p2 bra TRY_ADD;
{at(WRITE, "st.global.u32 [%d5], %r9;")}
TRY_ADD: setp.ne.u64 %p2, %a9, {ADD}; @%p2 bra DONE;
{at(ADD, "red.global.add.u32 [%d5], 1;")}
DONE:"""
    kernel = bench.kernel(body, 12, source=source)

    def run(what: int, offsets: list[int | None], count: int = 100, shape: tuple[int, ...] = (), address: int | None = None,
            block: int = 0, threads: int = 1) -> Fault | None:
        """count: elements of 4 bytes of the array; shape: two extents where it has two axes; address: another array instead."""
        whole = np.full(3 * 4096, GUARD, np.uint8)
        own = bench.put(whole)
        start = bench.put(np.zeros(count, np.uint32)) if address is None else address
        lists = [bench.put(np.array([offset or 0 for offset in offsets], np.int64)),
                 bench.put(np.array([offset is not None for offset in offsets], np.uint64))]
        axes = [*shape, 4 * shape[1], 4] if shape else [count, 4]
        values = [0, 0, count, 4, start, *axes]
        if not shape:
            values += [0, 0]        # no second axis: two more numbers
        block = block or min(len(offsets), 1024)
        try:
            kernel.launch([*values, what, *lists], grid=(-(-len(offsets) // block), 1, 1), block=(block, 1, 1), threads=threads)
        except Fault as fault:
            return fault
        finally:
            for pointer in [own, *lists, *([start] if address is None else [])]:
                bench.memory.free(pointer)
        return None

    return run


def lanes(offset: int | None, lane: int, count: int = 32) -> list[int | None]:
    """All threads access element 0, one of them the byte at ``offset``."""
    return [offset if thread == lane else 0 for thread in range(count)]


@pytest.mark.parametrize(("what", "verb"), [(READ, "read"), (WRITE, "write"), (ADD, "atomic update")])
@pytest.mark.parametrize(("offset", "index"), [(400, 100), (-4, -1), (404, 101), (-400, -100), (4000, 1000)])
def test_an_access_beside_an_array_is_named_with_its_index(access, source, what, verb, offset, index):
    fault = access(what, lanes(offset, 31))
    line = SOURCE.splitlines()[what - 1].strip()
    side = "is before its start" if index < 0 else "the last index is 99"
    assert fault.code == ILLEGAL
    assert fault.message == f"kernel kernel: {verb} out of bounds"
    for part in (f"at {source}:{what}: {line}", "by block (0, 0, 0), thread (31, 0, 0)",
                 f"x[{index}], but x has shape (100,)", side, "what to do: guard the access"):
        assert part in fault.note
    assert access(what, [0] * 32) is None, "the next launch works"


@pytest.mark.parametrize(("threads", "lane", "block", "who"), [
    (32, 0, 32, "block (0, 0, 0), thread (0, 0, 0)"), (43, 42, 43, "block (0, 0, 0), thread (42, 0, 0)"),
    (96, 64, 96, "block (0, 0, 0), thread (64, 0, 0)"), (200, 170, 40, "block (4, 0, 0), thread (10, 0, 0)")])
def test_a_single_thread_is_named_in_any_warp_and_block(access, threads, lane, block, who):
    for what in (READ, WRITE, ADD):
        assert f"by {who}" in access(what, lanes(400, lane, threads), block=block).note


def test_a_fault_in_a_divergent_branch_is_found_and_idle_lanes_are_not_blamed(access):
    offsets = [None if thread % 3 else 4 * thread for thread in range(64)]
    assert access(READ, offsets) is None
    offsets[45] = 400
    assert "thread (45, 0, 0)" in access(WRITE, offsets).note


def test_the_first_lane_in_order_is_blamed_when_several_fault(access):
    assert "x[150]" in access(READ, [0] * 7 + [600, 404, 400] + [0] * 22).note


@pytest.mark.parametrize("address", [0, 8, 1 << 62, (1 << 62) + 4, (1 << 63) - 4, 1 << 63, (1 << 64) - 4, (1 << 64) - 128,
                                     0x7FF0_0000_0000_0000])
def test_addresses_that_belong_to_nobody_fault_wherever_they_lie(access, address):
    for offsets in ([0] * 32, [4 * lane for lane in range(32)], lanes(64, 9)):
        for what in (READ, WRITE, ADD):
            assert access(what, offsets, address=address).code == ILLEGAL


def test_sums_that_wrap_past_the_end_of_memory_fault(access):
    for offset in (-(1 << 63), (1 << 63) - 4, 1 << 62, -(1 << 62)):
        assert access(READ, lanes(offset, 3)).code == ILLEGAL


def test_a_misaligned_access_tells_the_remainder(access):
    fault = access(WRITE, lanes(6, 12))
    assert (fault.code, fault.message) == (MISALIGNED, "kernel kernel: write misaligned")
    assert "4-byte access at address % 4 == 2; it must be 0" in fault.note
    assert access(WRITE, lanes(8, 12)) is None


def test_an_index_of_two_axes_is_told_with_the_distance(access):
    fault = access(READ, lanes(4 * 7 * 9 + 8, 5), count=63, shape=(7, 9))
    assert "x[7, 2], but x has shape (7, 9): the last index of axis 0 is 6" in fault.note
    assert "12 bytes past the end of the 252 bytes of x" in fault.note and "x[6, 11] would lie there too" in fault.note
    fault = access(READ, lanes(-4, 5), count=63, shape=(7, 9))
    assert "x[-1, 8], but x has shape (7, 9): index -1 is before its start" in fault.note
    assert "4 bytes before the start of the 252 bytes of x" in fault.note and "x[0, -1] would lie there too" in fault.note


def test_freed_memory_is_told_from_memory_that_never_was(access, bench):
    address = bench.put(np.zeros(50, np.uint32))
    bench.memory.free(address)
    fault = access(READ, [4] * 32, count=50, address=address)
    assert "the address lies in an array of 200 bytes that was freed before the launch" in fault.note
    assert "keep a device array referenced" in fault.note


def test_neighbouring_allocations_stay_as_they_were(access, bench):
    near = [bench.put(np.full(4096, GUARD, np.uint8)) for _ in range(3)]
    for offset in (400, 404, -4, -8):
        for what in (WRITE, ADD):
            assert access(what, lanes(offset, 31)).code == ILLEGAL
    for address in near:
        content = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * 4096).from_address(address))
        assert (content == GUARD).all()
        bench.memory.free(address)


def test_the_last_bytes_of_an_odd_size_are_the_end(bench):
    """7 bytes: a word at byte 4 has one byte too many, and so has a byte at 7; in global and in shared memory."""
    body = """.shared .align 8 .b8 tile[7]; mov.u64 %d9, tile; setp.eq.u64 %p1, %a2, 0; selp.u64 %d1, %a0, %d9, %p1;
add.u64 %d1, %d1, %a1;
setp.eq.u64 %p2, %a3, 4; @%p2 bra WORD; @%p1 ld.global.u8 %r1, [%d1]; @!%p1 ld.shared.u8 %r1, [%d1]; bra DONE;
WORD: @%p1 ld.global.u32 %r1, [%d1]; @!%p1 ld.shared.u32 %r1, [%d1]; DONE:"""
    kernel, address = bench.kernel(body, 4), bench.memory.alloc(7)
    for shared in (0, 1):
        for offset, size in ((0, 4), (6, 1)):
            kernel.launch([address, offset, shared, size])
        for offset, size in ((4, 4), (7, 1)):
            with pytest.raises(Fault) as caught:
                kernel.launch([address, offset, shared, size])
            assert caught.value.code == ILLEGAL
    bench.memory.free(address)


WINDOWS = {"shared": ("tile", 256), "local": ("frame", 64)}


@pytest.mark.parametrize("space", WINDOWS)
def test_shared_and_local_arrays_have_ends_too(bench, source, space):
    """Static memory, at offsets given by lane; a uniform one; and through a generic address."""
    name, size = WINDOWS[space]
    body = f""".shared .align 16 .b8 tile[256]; .local .align 16 .b8 frame[64];
mov.u32 %t, %tid.x; mul.wide.u32 %d9, %t, 8; add.u64 %d8, %a1, %d9; ld.global.s64 %d7, [%d8]; mov.u64 %d6, {name};
cvta.{space}.u64 %d5, %d6; add.s64 %d4, %d6, %d7; add.s64 %d3, %d5, %d7; add.s64 %d2, %d6, %a2;
setp.ne.u64 %p1, %a0, 0; @%p1 bra NEXT; {at(READ, f"ld.{space}.u32 %r1, [%d4];")} bra DONE;
NEXT: setp.ne.u64 %p1, %a0, 1; @%p1 bra NEXT2; {at(WRITE, f"st.{space}.v2.u32 [%d4], {{%r1, %r1}};")} bra DONE;
NEXT2: setp.ne.u64 %p1, %a0, 2; @%p1 bra NEXT3; {at(READ, f"ld.{space}.u32 %r1, [%d2];")} bra DONE;
NEXT3: setp.ne.u64 %p1, %a0, 3; @%p1 bra NEXT4; {at(WRITE, f"st.{space}.u32 [%d2], %r1;")} bra DONE;
NEXT4: {at(READ, "ld.u32 %r1, [%d3];")} DONE:"""
    kernel = bench.kernel(body, 3, source=source)
    memory = bench.put(np.zeros(1, np.uint32))
    bench.memory.free(memory)

    def fault(what: int, offset: int) -> Fault | None:
        offsets = bench.put(np.array([0] * 30 + [offset, 0], np.int64))
        try:
            kernel.launch([what, offsets, offset])
        except Fault as found:
            return found
        finally:
            bench.memory.free(offsets)
        return None

    for what in range(5):
        room = 8 if what == 1 else 4
        assert fault(what, size - room) is None
        for offset in (size, size + 4096, -8, -(1 << 40), 1 << 40, -(1 << 63)):
            found = fault(what, offset)
            assert found.code == ILLEGAL, (what, offset)
            if what < 4:
                assert f"byte offset {offset} of {size} bytes of {space} memory; {room} bytes asked for" in found.note
                assert f"thread ({30 if what < 2 else 0}, 0, 0)" in found.note
        assert fault(what, 2).code == MISALIGNED
    assert fault(1, size - 4).code == MISALIGNED


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(("verb", "step", "first"), [("ld", 4, 0), ("st", 4, 0), ("ld", 12, 0), ("ld", 8, 4)])
def test_vectors_that_only_some_lanes_misalign_are_found(bench, space, verb, step, first):
    """First lane 0 alone, which is aligned where ``first`` is 0, then the whole warp."""
    base = "%a0" if space == "global" else "%d9"
    body = f""".shared .align 16 .b8 tile[1024]; mov.u64 %d9, tile; mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, {step};
add.u64 %d1, {base}, %d1; mov.u32 %r9, 0; cvt.u32.u64 %r8, %a1;
AGAIN: setp.gt.u32 %p1, %t, %r9; @%p1 bra SKIP;
{verb}.{space}.v2.u32 {"{%r1, %r2}, [%d1+FIRST]" if verb == "ld" else "[%d1+FIRST], {%r1, %r2}"};
SKIP: add.u32 %r9, %r9, 31; setp.lt.u32 %p2, %r9, 40; @%p2 bra AGAIN;""".replace("FIRST", str(first))
    with pytest.raises(Fault) as caught:
        bench.kernel(body, 2)(np.zeros(256, np.uint32), 0)
    assert caught.value.code == MISALIGNED


def test_unaligned_host_memory_is_checked_by_absolute_address(bench):
    """A registered range that starts 4 bytes past a multiple of 8: 8-byte cells begin at its second word."""
    raw = np.zeros(600, np.uint8)
    start = raw.ctypes.data + -raw.ctypes.data % 256 + 4
    bench.memory.register(start, 300)
    body = "mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 8; add.u64 %d1, %a0, %d1; ld.global.u64 %d2, [%d1]; " \
        "add.u64 %d1, %d1, %a1; ld.global.u64 %d2, [%d1]; ld.global.u64 %d2, [%d1];"
    kernel = bench.kernel(body, 2)
    try:
        kernel.launch([start + 4, 0], grid=(3, 1, 1))
        for shift in (-4, 4, 20):
            with pytest.raises(Fault) as caught:
                kernel.launch([start + 4, shift], grid=(3, 1, 1))
            assert caught.value.code == MISALIGNED
    finally:
        bench.memory.unregister(start)


def failure(bench, body: str, *arguments, **launch) -> Fault:
    with pytest.raises(Fault) as caught:
        bench.kernel(body, len(arguments))(*arguments, **launch)
    assert caught.value.code == FAILED
    return caught.value


TWO_BARRIERS = f"""mov.u32 %t, %tid.x; setp.lt.u32 %p1, %t, {{limit}}; @%p1 bra LOW;
{at(7, "bar.sync 0;")} bra DONE;
LOW: {at(9, "bar.sync 0;")} DONE:"""


def test_lanes_of_a_warp_at_different_barriers_fail(bench):
    fault = failure(bench, TWO_BARRIERS.format(limit=40), block=(64, 1, 1))
    assert "different barriers" in fault.note
    assert "kernel.py:7" in fault.note or "kernel.py:9" in fault.note
    assert "every thread of a block must reach the same syncthreads()" in fault.note


def test_warps_of_a_block_at_different_barriers_fail_with_both_places(bench):
    fault = failure(bench, TWO_BARRIERS.format(limit=32), block=(64, 1, 1), grid=(3, 1, 1))
    for part in ("threads of one block wait at different barriers", "kernel.py:9", "kernel.py:7", "in block (0, 0, 0)"):
        assert part in fault.note


TURNS = """mov.u32 %t, %tid.x; mov.u32 %r1, 0; {limit}
LOOP: bar.sync 0; add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %r2; @%p1 bra LOOP;
{after}"""


@pytest.mark.parametrize("limit", ["shr.u32 %r2, %t, 5;", "shr.u32 %r2, %t, 3;"], ids=["by warp", "by lane"])
def test_barriers_in_a_loop_of_different_trip_counts_fail_unless_the_others_end(bench, limit):
    fault = failure(bench, TURNS.format(limit=limit, after="bar.sync 0; bar.sync 0;"), block=(96, 1, 1))
    assert "barriers" in fault.message
    bench.kernel(TURNS.format(limit=limit, after=""), 0)(block=(96, 1, 1))
    bench.kernel(TURNS.format(limit="mov.u32 %r2, 4;", after="bar.sync 0; bar.sync 0;"), 0)(block=(96, 1, 1))


def test_lanes_that_meet_at_one_barrier_by_different_ways_wait_together(bench):
    """The barrier stands after a branch and in a loop that all leave together; what lanes hold survives it."""
    body = """mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 4; add.u64 %w1, %a0, %w0; and.b32 %r1, %t, 3; mov.u32 %r3, 0;
mov.u32 %r4, 0;
LOOP: setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN; add.u32 %r3, %r3, %t; bra JOIN; EVEN: sub.u32 %r3, %r3, 1;
JOIN: bar.sync 0; add.u32 %r1, %r1, 1; and.b32 %r1, %r1, 3; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 8; @%p2 bra LOOP;
st.global.u32 [%w1], %r3;"""
    out = np.zeros(70, np.uint32)
    bench.kernel(body, 1)(out, block=(70, 1, 1))
    assert out.tolist() == [(6 * t - 2) % (1 << 32) for t in range(70)]


@pytest.mark.parametrize(("code", "message"), [
    ("shfl.sync.idx.b32 %r2, %t, 0, 31, 0xFFFF;", "outside its own mask"),
    ("vote.sync.any.pred %p2, %p1, 0xFFFFFFFE;", "outside its own mask"),
    ("bar.warp.sync 0x0000FF00;", "outside its own mask"), ("redux.sync.add.u32 %r2, %t, 1;", "outside its own mask"),
    ("setp.gt.u32 %p1, %t, 20; @%p1 bra DONE; shfl.sync.idx.b32 %r2, %t, 0, 31, 0xFFFFFFFF;", "a named lane does not arrive"),
    ("setp.gt.u32 %p1, %t, 20; @%p1 bra DONE; match.any.sync.b32 %r2, %t, 0x00FFFFFF;", "a named lane does not arrive"),
    ("setp.gt.u32 %p1, %t, 20; @%p1 bra DONE; mov.u32 %r3, 0x1FFFFF; shl.b32 %r4, 1, %t; or.b32 %r3, %r3, %r4; "
     "selp.b32 %r3, -1, %r3, %p3; bar.warp.sync %r3;", "")])
def test_collectives_need_every_caller_in_its_mask_and_every_named_lane_there(bench, code, message):
    body = f"mov.u32 %t, %laneid; setp.eq.u32 %p3, %t, 99; {at(4, code)} DONE: add.u32 %r9, %r9, 1; bar.sync 0;"
    if not message:
        bench.kernel(body, 0)()
        return
    fault = failure(bench, body)
    assert message in fault.message and "kernel.py:4" in fault.note and "by block (0, 0, 0), thread" in fault.note


def test_lanes_that_ended_need_not_arrive(bench):
    """The mask names all 32, 11 of them have ended: each of the others still gets its neighbour."""
    out = np.zeros(32, np.uint32)
    bench.kernel("mov.u32 %t, %laneid; setp.gt.u32 %p1, %t, 20; @%p1 ret; shfl.sync.bfly.b32 %r2, %t, 1, 31, -1; "
                 "mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; st.global.u32 [%d1], %r2;", 1)(out)
    assert out[:20].tolist() == [t ^ 1 for t in range(20)]


def test_a_barrier_for_part_of_a_block_is_refused_with_its_line(bench):
    for code in ("bar.sync 1, 64;", "bar.red.popc.u32 %r1, 1, 64, %p1;", "barrier.sync 0, 32;"):
        with pytest.raises(Unsupported, match=r"with a number of threads.*PTX line"):
            bench.kernel(code, 0)(block=(64, 1, 1))


FOREVER = "LOOP: add.u32 %r1, %r1, 1; setp.ne.u64 %p1, %a0, %a1; @%p1 bra LOOP;"


def test_a_fault_stops_workers_that_are_busy_with_other_blocks(bench):
    body = "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 5; @%p2 bra LOOP; ld.global.u32 %r3, [%a1];" + FOREVER
    began = time.monotonic()
    with pytest.raises(Fault) as caught:
        bench.kernel(body, 2).launch([1, 8], grid=(6, 1, 1), threads=6)
    assert caught.value.code == ILLEGAL and "block (5, 0, 0)" in caught.value.note
    assert time.monotonic() - began < 5


def test_ctrl_c_stops_a_kernel_within_a_second_and_the_next_launch_works(bench):
    kernel = bench.kernel(FOREVER, 2)
    kernel.launch([3, 3])
    pressed = []

    def press() -> None:
        pressed.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(0.2, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kernel.launch([3, 4], grid=(100, 1, 1), threads=2)
    assert time.monotonic() - pressed[0] < 1
    timer.join()
    kernel.launch([3, 3], grid=(100, 1, 1), threads=2)


READ_ONLY = f"""mov.u32 %t, %laneid; mul.wide.u32 %d9, %t, 4; mov.u64 %d8, table; cvta.const.u64 %d7, %d8;
setp.eq.u64 %p1, %a1, 0; selp.b64 %d6, %d7, %a0, %p1; add.u64 %d5, %d6, %d9; ld.u32 %r1, [%d5]; add.u32 %r1, %r1, 1;
setp.ne.u64 %p2, %a2, {WRITE}; @%p2 bra ADD; {at(WRITE, "st.u32 [%d5], %r1;")}
ADD: setp.ne.u64 %p2, %a2, {ADD}; @%p2 bra DONE; {at(ADD, "atom.add.u32 %r2, [%d5], 1;")}
DONE: add.u64 %d5, %a3, %d9; st.global.u32 [%d5], %r1;"""


def test_constant_memory_is_read_and_never_written(bench):
    """By a store or an atomic that shares its address, and the check of it, with a load; the array beside it may be written."""
    kernel = bench.kernel(READ_ONLY, 4, ".const .align 4 .b8 table[128];")
    numbers = np.arange(32, dtype=np.uint32)
    kernel.set("table", numbers)
    array, out = bench.put(numbers), bench.put(numbers * 0)
    for use_array in (1, 0, 1):
        kernel.launch([array, use_array, READ, out])
        for what, verb in ((WRITE, "write"), (ADD, "atomic update")):
            if use_array:
                kernel.launch([array, use_array, what, out])
                continue
            with pytest.raises(Fault) as caught:
                kernel.launch([array, use_array, what, out])
            assert (caught.value.code, caught.value.message) == (ILLEGAL, f"kernel kernel: {verb} to read-only memory")
            assert "the address lies in 128 bytes of constant memory" in caught.value.note
            assert f"kernel.py:{what}" in caught.value.note and "kernels only read it" in caught.value.note
    table, size = kernel.program.globals["table"]
    assert np.array_equal(np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint32 * 32).from_address(table)), numbers)
    for address in (array, out):
        bench.memory.free(address)


def test_memory_registered_for_reading_is_not_written_and_its_neighbour_is(bench):
    both = np.zeros(64, np.uint32)
    kernel = bench.kernel(f"{at(WRITE, 'st.global.u32 [%a0], 7;')}", 1)
    start = both.ctypes.data
    bench.memory.register(start, 128, read_only=True)
    bench.memory.register(start + 128, 128)
    try:
        kernel.launch([start + 128])
        with pytest.raises(Fault) as caught:
            kernel.launch([start + 124])
        assert "to read-only memory" in caught.value.message and "registered for reading only" in caught.value.note
        kernel.launch([start + 128])
    finally:
        bench.memory.unregister(start)
        bench.memory.unregister(start + 128)
    assert both.nonzero()[0].tolist() == [32]
