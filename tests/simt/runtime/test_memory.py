"""Device memory: what may be touched, what was freed, and what fresh memory holds."""
from __future__ import annotations

import ctypes
import mmap
import threading

import numpy as np
import pytest

from simt.runtime import memory as module
from simt.runtime.arena import host_rights
from simt.runtime.memory import (
    POISON_BYTE,
    POISON_LIMIT_BYTES,
    QUARANTINE_LENGTH,
    READ_ONLY_END,
    AllocationError,
    AlreadyRegistered,
    InvalidPointer,
    Memory,
    NotRegistered,
    OutOfMemory,
)

MIB = 1 << 20


@pytest.fixture
def memory():
    made = Memory(256 * MIB)
    yield made
    made.close()


def content(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)


def test_addresses_are_aligned_to_256_bytes(memory):
    assert [memory.alloc(size) % 256 for size in (1, 7, 300, 5000)] == [0, 0, 0, 0]


def test_the_byte_after_an_allocation_belongs_to_none(memory):
    first, second = memory.alloc(4096), memory.alloc(4096)
    assert memory.find(first + 4095).base == first
    assert memory.find(first + 4096) is None
    assert memory.find(second - 1) is None


def test_sizes_are_exact_to_the_byte(memory):
    address = memory.alloc(13)
    assert (memory.find(address + 12).size, memory.find(address + 13)) == (13, None)


def test_the_table_lists_live_ranges_in_order_and_its_version_changes_with_them(memory):
    addresses = [memory.alloc(10 * (index + 1)) for index in range(3)]
    starts, ends, version = memory.table()
    assert starts.dtype == ends.dtype == np.int64
    assert list(starts) == sorted(addresses)
    assert [memory.find(int(start)).end for start in starts] == list(ends)
    assert memory.table()[2] == version and memory.table()[0] is starts
    memory.free(addresses[1])
    assert memory.table()[2] != version
    assert list(memory.table()[0]) == sorted([addresses[0], addresses[2]])
    assert len(starts) == 3, "a table once given out is not written again"


def test_registered_host_memory_is_in_the_table_until_it_is_unregistered(memory):
    host = np.zeros(100, np.float32)
    memory.register(host.ctypes.data, host.nbytes)
    assert memory.find(host.ctypes.data + 399).kind == "registered"
    assert memory.used_bytes == 0
    with pytest.raises(AlreadyRegistered):
        memory.register(host.ctypes.data + 40, 4)
    with pytest.raises(InvalidPointer):
        memory.free(host.ctypes.data)
    memory.unregister(host.ctypes.data)
    assert memory.find(host.ctypes.data) is None
    with pytest.raises(NotRegistered):
        memory.unregister(host.ctypes.data)


def test_fresh_device_memory_is_poisoned_and_variables_are_not(memory):
    assert set(content(memory.alloc(1000), 1000)) == {POISON_BYTE}
    assert set(content(memory.alloc(1000, "module variable"), 1000)) == {0}


def test_large_allocations_read_as_zero(memory):
    address = memory.alloc(POISON_LIMIT_BYTES + 1)
    assert content(address, 8) == bytes(8)
    assert content(address + POISON_LIMIT_BYTES - 7, 8) == bytes(8)


def test_a_freed_address_is_remembered_and_not_handed_out_again_for_64_frees(memory):
    address = memory.alloc(64)
    memory.free(address)
    assert memory.find(address) is None
    assert memory.freed(address + 63).size == 64
    again = {memory.alloc(64) for _ in range(QUARANTINE_LENGTH)}
    assert address not in again
    for other in again:
        memory.free(other)
    assert memory.freed(address) is None
    assert memory.alloc(64) == address


def test_freed_pages_go_back_to_the_system(memory):
    address = memory.alloc(4 * MIB)
    memory.free(address)
    assert content(address, 4096) == bytes(4096)


@pytest.mark.parametrize("offset, said", [(0, "was freed before"), (1, "was freed before"), (1 << 40, "no allocation")])
def test_a_second_free_says_what_happened_to_the_address(memory, offset, said):
    address = memory.alloc(100)
    memory.free(address)
    with pytest.raises(InvalidPointer, match=said):
        memory.free(address + offset)


def test_freeing_inside_an_allocation_names_its_start(memory):
    address = memory.alloc(100)
    with pytest.raises(InvalidPointer, match=f"free its start {address:#x}"):
        memory.free(address + 8)
    assert memory.find(address) is not None


def test_nearest_measures_from_the_ends(memory):
    first, second = memory.alloc(4096), memory.alloc(4096)
    low, high = sorted((first, second))
    assert memory.nearest(low + 4096).base == low
    assert memory.nearest(high - 1).base == high
    assert memory.nearest(high + 50).base == high
    assert memory.nearest(1).base == low


def test_nothing_is_nearest_in_empty_memory(memory):
    assert memory.nearest(4711) is None


def test_more_than_the_device_has_is_out_of_memory(memory):
    held = memory.alloc(200 * MIB)
    with pytest.raises(OutOfMemory, match="268435456 B"):
        memory.alloc(57 * MIB)
    memory.free(held)
    memory.alloc(256 * MIB)


def test_no_bytes_are_no_allocation(memory):
    with pytest.raises(AllocationError):
        memory.alloc(0)


def test_memory_can_be_used_up_and_freed_again_and_again(memory):
    for _ in range(5):
        memory.free(memory.alloc(250 * MIB))
    assert memory.used_bytes == 0


def test_nothing_grows_over_ten_thousand_allocations(memory):
    def resident_pages() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1])

    def churn(times: int) -> None:
        held = [memory.alloc(1 + 997 * index % 9000) for index in range(20)]
        for index in range(times):
            memory.free(held.pop(0))
            held.append(memory.alloc(1 + 997 * index % 9000))
        for address in held:
            memory.free(address)

    churn(500)
    before = resident_pages()
    churn(10_000)
    assert resident_pages() - before < 256
    assert memory.used_bytes == 0
    assert len(memory.table()[0]) == 0
    assert memory.alloc(250 * MIB)


def test_threads_share_memory_without_losing_a_byte(memory):
    errors = []

    def work(seed: int) -> None:
        try:
            for size in np.random.default_rng(seed).integers(1, 5000, 200):
                address = memory.alloc(int(size))
                ctypes.memset(address, seed, int(size))
                assert set(content(address, int(size))) == {seed}
                memory.free(address)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert memory.used_bytes == 0


def test_a_smaller_reserve_serves_where_address_space_is_limited(monkeypatch):
    reserve = module.Arena.__init__.__globals__["_reserve"]
    asked = []

    def limited(size: int) -> int | None:
        asked.append(size)
        return reserve(size) if size <= 2 << 30 else None

    monkeypatch.setitem(module.Arena.__init__.__globals__, "_reserve", limited)
    memory = Memory(80 << 30)
    memory.free(memory.alloc(100))
    assert asked[0] == 160 << 30 and asked[-1] <= 2 << 30
    memory.close()


def test_the_table_marks_the_ends_of_what_kernels_only_read(memory):
    constant, array = memory.alloc(64, "constant"), memory.alloc(64)
    host = np.zeros(16, np.float32)
    memory.register(host.ctypes.data, host.nbytes, read_only=True)
    starts, ends, _ = memory.table()
    marked = {int(start) for start, end in zip(starts, ends, strict=True) if end < 0}
    assert marked == {constant, host.ctypes.data}
    assert [memory.find(start).end for start in starts] == [int(end) & ~READ_ONLY_END for end in ends]
    assert memory.find(constant).read_only and not memory.find(array).read_only


def test_what_the_process_may_do_with_a_page_is_read_from_its_mappings():
    page = mmap.PAGESIZE
    pages = mmap.mmap(-1, 3 * page)
    closed = mmap.mmap(-1, page, prot=mmap.PROT_READ)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    shut = int(np.frombuffer(closed, np.uint8).ctypes.data)
    assert host_rights(start, 3 * page) == host_rights(start + 5, 1) == "rw"
    assert host_rights(shut, page) == "r"
    assert host_rights(8, 8) == "" and host_rights(start, 1 << 46) == ""
