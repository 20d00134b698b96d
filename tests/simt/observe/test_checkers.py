"""Checkers on hand-written PTX: byte by byte, space by space, and what orders two accesses."""
from __future__ import annotations

import numpy as np
import pytest

SHARED = ".shared .align 16 .b8 tile[1024];"
START = "mov.u32 %t, %tid.x; mov.u64 %d9, tile; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d9, %d1;\n"


def findings(kernel, *arrays, checks=("race", "init", "sync"), **launch) -> list[tuple[str, bool, tuple[int, ...]]]:
    """(kind, is a note, lines) of each."""
    from simt.runtime.sampling import Sampling

    counted = kernel(*arrays, sampling=Sampling("auto", checks=checks), **launch)
    return [(one.kind, one.note, tuple(line for _, line in one.places)) for one in counted.findings]


def at(line: int, code: str) -> str:
    return f".loc 1 {line} 0\n{code}\n"


@pytest.mark.parametrize(("step", "offset", "races"), [(1, 0, False), (2, 1, False), (2, 2, True), (1, 1, True), (4, 3, False)])
def test_bytes_of_one_word_are_apart(bench, step, offset, races):
    """Thread t writes byte t * step of shared memory, and reads byte t * step + offset."""
    text = f"mov.u32 %t, %tid.x; mov.u64 %d9, tile; mul.wide.u32 %d1, %t, {step}; add.u64 %d1, %d9, %d1;\n"
    text += at(1, "st.shared.u8 [%d1], %t;") + at(2, f"ld.shared.u8 %r1, [%d1+{offset}];")
    found = findings(bench.kernel(text, 0, SHARED), checks=("race",), block=(64, 1, 1))
    assert found == ([("race", False, (1, 2))] if races else [])


@pytest.mark.parametrize("fence", ["bar.sync 0;", "bar.warp.sync -1;", "membar.cta;", "shfl.sync.idx.b32 %r5, %t, 0, 31, -1;",
                                   "vote.sync.all.pred %p1, %p2, -1;", ""])
@pytest.mark.parametrize("threads", [32, 64])
def test_what_orders_a_write_and_a_read(bench, fence, threads):
    """Each thread reads what its neighbour has written: in one warp, or across two."""
    text = START + "setp.eq.u32 %p2, %t, %t;" + at(1, "st.shared.u32 [%d1], %t;") + fence + at(2, "ld.shared.u32 %r1, [%d1+4];")
    orders = fence.startswith("bar.sync") or (fence.startswith("bar.warp") and threads == 32)
    found = findings(bench.kernel(text, 0, SHARED), checks=("race",), block=(threads, 1, 1))
    assert found == ([] if orders else [("race", False, (1, 2))])


def test_a_syncwarp_of_half_a_warp_orders_that_half_only(bench):
    """Lanes 0-15 synchronise, and read their neighbour in the half: lane 15's neighbour 16 took no part."""
    text = START + at(1, "st.shared.u32 [%d1], %t;") + "setp.ge.u32 %p1, %t, 16; @%p1 bra END; bar.warp.sync 0xFFFF;" + \
        at(2, "ld.shared.u32 %r1, [%d1+OFFSET];") + "END:"
    for offset, races in ((-4, False), (4, True)):
        body = text.replace("OFFSET", str(offset)).replace("+-", "-")
        body = body.replace("tile;", "tile+4;")         # lane 0 has a left neighbour too
        found = findings(bench.kernel(body, 0, SHARED), checks=("race",))
        assert found == ([("race", False, (1, 2))] if races else [])


def test_a_word_that_several_threads_write_with_one_value_is_a_note(bench):
    text = START + at(1, "st.shared.u32 [tile], VALUE;")
    assert findings(bench.kernel(text.replace("VALUE", "7"), 0, SHARED), checks=("race",)) == [("race", True, (1,))]
    assert findings(bench.kernel(text.replace("VALUE", "%t"), 0, SHARED), checks=("race",)) == [("race", False, (1,))]


def test_a_vector_access_covers_all_its_words(bench):
    text = "mov.u32 %t, %tid.x; mov.u64 %d9, tile; mul.wide.u32 %d1, %t, 16; add.u64 %d1, %d9, %d1;\n" + \
        at(1, "st.shared.v4.u32 [%d1], {%t, %t, %t, %t};") + at(2, "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+OFFSET];")
    for offset, expected in ((0, []), (16, [("race", False, (1, 2))])):
        found = findings(bench.kernel(text.replace("OFFSET", str(offset)), 0, SHARED), checks=("race",), block=(48, 1, 1))
        assert found == expected


def test_lanes_whose_guard_does_not_hold_access_nothing(bench):
    text = START + "setp.eq.u32 %p1, %t, 5;" + at(1, "@%p1 st.shared.u32 [tile], %t;") + \
        at(2, "@%p1 ld.shared.u32 %r1, [tile];")
    assert findings(bench.kernel(text, 0, SHARED), block=(64, 1, 1)) == []


def test_global_words_race_between_blocks_and_within(bench):
    text = "mov.u32 %t, %ctaid.x; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; setp.ne.u32 %p1, %tid.x, 0; @%p1 ret;\n" + \
        at(1, "st.global.u32 [%d1], %t;") + at(2, "ld.global.u32 %r1, [%d1+OFFSET];")
    for offset, expected in ((0, []), (4, [("race", False, (1, 2))])):
        found = findings(bench.kernel(text.replace("OFFSET", str(offset)), 1), np.zeros(8, np.uint32), checks=("race",),
                         grid=(7, 1, 1))
        assert found == expected


def test_a_local_word_is_followed_for_each_thread(bench):
    """Thread t writes word t % 2 of its frame, and reads word 1: even threads have not written it."""
    text = ".local .align 4 .b8 frame[8]; mov.u32 %t, %tid.x; mov.u64 %d9, frame; and.b32 %r1, %t, 1;" \
        "mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d9, %d1;\n" + at(1, "st.local.u32 [%d1], %t;") + \
        at(2, "ld.local.u32 %r2, [%d9+4];")
    assert findings(bench.kernel(text, 0)) == [("init", False, (2,))]
    assert findings(bench.kernel(text.replace("and.b32 %r1, %t, 1", "or.b32 %r1, 1, 1"), 0)) == []


def test_local_memory_is_followed_through_generic_addresses_too(bench):
    """As when the address of a local variable goes to a function of CUDA C++: each thread writes word 1 of its three."""
    text = ".local .align 4 .b8 frame[12]; mov.u32 %t, %tid.x; mov.u64 %d9, frame; cvta.local.u64 %d1, %d9;\n" + \
        at(1, "st.u32 [%d1+4], %t;") + at(2, "ld.local.u32 %r1, [%d9+4];") + at(3, "ld.local.u32 %r2, [%d9+OFFSET];") + \
        at(4, "ld.u32 %r3, [%d1+OFFSET];")
    for offset, expected in ((4, []), (0, [("init", False, (3,)), ("init", False, (4,))])):
        body = text.replace("OFFSET", str(offset))
        assert findings(bench.kernel(body, 0), grid=(2, 1, 1), block=(80, 1, 1)) == expected


def test_shared_bytes_are_followed_one_by_one(bench):
    text = START + at(1, "st.shared.u16 [%d1+2], %t;") + at(2, "ld.shared.KIND %r1, [%d1+OFFSET];")
    for kind, offset, sound in (("u16", 2, True), ("u8", 3, True), ("u16", 0, False), ("u32", 0, False), ("u8", 1, False)):
        body = text.replace("KIND", kind).replace("OFFSET", str(offset))
        assert findings(bench.kernel(body, 0, SHARED), checks=("init",)) == ([] if sound else [("init", False, (2,))]), kind


def test_an_atomic_of_what_nobody_wrote_is_a_read_of_it(bench):
    text = at(1, "red.shared.add.u32 [tile], 1;")
    assert findings(bench.kernel(text, 0, SHARED), checks=("init",)) == [("init", False, (1,))]


def test_every_block_begins_with_unwritten_shared_memory(bench):
    """Block 0 writes, block 1 reads."""
    text = START + "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;" + at(1, "@%p1 st.shared.u32 [%d1], %t;") + \
        at(2, "@!%p1 ld.shared.u32 %r2, [%d1];")
    assert findings(bench.kernel(text, 0, SHARED), grid=(2, 1, 1)) == [("init", False, (2,))]


def test_a_lock_orders_what_it_guards(bench):
    """One thread of each warp takes the lock, adds to a word, and gives the lock back: with fences, and without."""
    text = """mov.u32 %t, %laneid; setp.ne.u32 %p1, %t, 0; @%p1 ret;
TRY: atom.global.cas.b32 %r1, [%a0], 0, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra TRY;
""" + at(1, "ld.global.u32 %r2, [%a0+4];") + "add.u32 %r2, %r2, 1;" + at(2, "st.global.u32 [%a0+4], %r2;") + \
        "FENCE atom.global.exch.b32 %r3, [%a0], 0;"
    for fence, ordered in (("membar.gl;", True), ("", False)):
        memory = np.zeros(2, np.uint32)
        kernel = bench.kernel(text.replace("FENCE", fence), 1)
        found = findings(kernel, memory, checks=("race",), grid=(3, 1, 1), block=(64, 1, 1))
        assert (found == []) is ordered and memory[1] == 6


def test_a_large_grid_is_watched_in_some_of_its_blocks_and_says_nothing_wrong(bench):
    """Shared races of every block are found in the watched ones; global ones in all."""
    text = START + at(1, "st.shared.u32 [%d1], %t;") + at(2, "ld.shared.u32 %r1, [%d1+4];") + \
        "setp.ne.u32 %p1, %t, 0; @%p1 ret;" + at(3, "st.global.u32 [%a0], %t;")
    found = findings(bench.kernel(text, 1, SHARED), np.zeros(1, np.uint32), checks=("race",), grid=(500, 1, 1))
    assert found == [("race", False, (1, 2)), ("race", True, (3,))]


@pytest.mark.parametrize(("limit", "value", "watched"), [
    ("MOST_GLOBAL_WORDS", 256, True), ("MOST_SECTORS", 16, False), ("MOST_GLOBAL_WORDS", 64, False)])
def test_a_launch_that_touches_more_global_memory_than_there_is_room_for_says_so(bench, monkeypatch, limit, value, watched):
    """Each of 256 threads reads one of 256 words, and writes its neighbour's after a barrier: 32 sectors, no race."""
    from simt.observe import race
    from simt.runtime.sampling import Sampling

    monkeypatch.setattr(race, limit, value)
    text = "mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1;" + at(1, "ld.global.u32 %r1, [%d1];") + \
        "bar.sync 0; xor.b32 %t, %t, 1; mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1;" + at(2, "st.global.u32 [%d1], %r1;")
    kernel = bench.kernel(text, 1)
    counted = kernel(np.arange(256, dtype=np.uint32), sampling=Sampling("auto", checks=("race",)), block=(256, 1, 1))
    assert counted.globally_watched is watched and counted.findings == []
    assert kernel(np.zeros(256, np.uint32), sampling=Sampling("auto"), block=(256, 1, 1)).globally_watched


SWAP = """cvta.to.global.u64 %d2, %a0; mov.u32 %t, %tid.x; cvt.rn.f64.u32 %g1, %t; mov.b64 %d4, %g1;
FIRST
setp.geu.f64 %p1, %g2, %g1; @%p1 bra END;
AGAIN: mov.b64 %d3, %g2;
""" + at(2, "atom.global.cas.b64 %d5, [%d2], %d3, %d4;") + """
mov.b64 %g2, %d5; setp.gtu.f64 %p2, %g1, %g2; @%p2 bra AGAIN;
END:"""


@pytest.mark.parametrize(("first", "races"), [
    ("ld.volatile.global.f64 %g2, [%d2];", False),                          # as numba's cuda.atomic.max of floats
    ("ld.f64 %g2, [%a0];", False),                                          # the same word by its generic address
    ("ld.global.f64 %g2, [%d2]; add.f64 %g2, %g2, %g2;", True),             # the swap does not compare with what was loaded
    ("ld.global.f64 %g2, [%d2+8]; ld.global.f64 %g3, [%d2];", True),        # nor with this one
])
def test_the_load_that_begins_a_compare_and_swap_loop_does_not_race(bench, first, races):
    """A maximum of doubles over two warps of two blocks: the swap finds out when the load was outdated."""
    memory = np.zeros(2)
    kernel = bench.kernel(SWAP.replace("FIRST", at(1, first)), 1)
    found = findings(kernel, memory, checks=("race",), grid=(2, 1, 1), block=(64, 1, 1))
    assert found == ([("race", False, (1, 2))] if races else [])
    assert races or memory[0] == 63


COOPERATIVE = """.extern .func (.param .b64 result) cudaCGGetIntrinsicHandle (.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize (.param .b64 group, .param .b32 flags);
""" + SHARED
ALL_BLOCKS = """{ .param .b32 scope; st.param.b32 [scope], 1; .param .b64 result;
call.uni (result), cudaCGGetIntrinsicHandle, (scope); ld.param.b64 %d8, [result]; }
{ .param .b64 group; .param .b32 flags; st.param.b64 [group], %d8; st.param.b32 [flags], 0; .param .b32 result;
call.uni (result), cudaCGSynchronize, (group, flags); ld.param.b32 %r9, [result]; }
"""


@pytest.mark.parametrize("space", ["shared", "local"])
def test_blocks_that_wait_for_each_other_keep_what_they_wrote(bench, space):
    """Each block writes the lower half of its memory, all blocks meet, and each reads what it wrote, then the other half."""
    start = START if space == "shared" else ".local .align 4 .b8 frame[1024];\n" + START.replace("tile", "frame")
    text = start + at(1, f"st.{space}.u32 [%d1], %t;") + ALL_BLOCKS + at(2, f"ld.{space}.u32 %r1, [%d1];") + \
        at(3, f"ld.{space}.u32 %r2, [%d1+128];")
    found = findings(bench.kernel(text, 0, COOPERATIVE), checks=("init", "race"), grid=(3, 1, 1))
    assert found == [("init", False, (3,))]
