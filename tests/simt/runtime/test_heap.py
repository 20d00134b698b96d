"""The heap of device code, without kernels."""
from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from simt.runtime.heap import ALIGN_BYTES, Heap
from simt.runtime.memory import Memory


@pytest.fixture
def heap() -> Iterator[Heap]:
    memory = Memory(1 << 30)
    made = Heap(memory)
    made.resize(1 << 16)
    made.begin()
    yield made
    memory.close()


def test_blocks_are_aligned_apart_and_inside_the_heap_whatever_the_order(heap, seed):
    source, live = random.Random(seed), {}
    for _ in range(2000):
        if live and source.random() < 0.5:
            start = source.choice(list(live))
            del live[start]
            assert heap.release(start)
            continue
        size = source.choice((1, 15, 16, 17, 200, 4000))
        start = heap.allocate(size)
        if start:
            assert start % ALIGN_BYTES == 0 and heap.base <= start and start + size <= heap.base + heap.size_bytes
            assert all(start + size <= other or other + other_size <= start for other, other_size in live.items())
            live[start] = size
    for start in live:
        assert heap.release(start)
    assert heap.holes == {heap.base: heap.size_bytes}


def test_a_full_heap_gives_null_until_something_is_freed(heap):
    blocks = [heap.allocate(heap.size_bytes // 4) for _ in range(4)]
    assert all(blocks) and heap.allocate(1) == 0
    assert heap.release(blocks[2]) and heap.allocate(heap.size_bytes // 4) == blocks[2]


def test_only_the_start_of_a_block_in_use_is_taken_back(heap):
    start = heap.allocate(64)
    assert not heap.release(start + 16)
    assert heap.release(start)
    assert not heap.release(start)


def test_the_size_is_settled_by_the_first_use(heap):
    assert not heap.resize(1 << 20)
    assert heap.size_bytes == 1 << 16
