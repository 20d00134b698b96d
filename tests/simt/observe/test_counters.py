"""Counters that can be worked out by hand: sectors, lines and banks of regular accesses, instructions, lanes, flops."""
from __future__ import annotations

import math

import numpy as np
import pytest

from simt.observe import names

FILE = "kernel.py"
LOAD = (names.GLOBAL_REQUESTS_LD, names.GLOBAL_SECTORS_LD, names.GLOBAL_LINES_LD, names.GLOBAL_WAVEFRONTS_LD,
        names.GLOBAL_BYTES_REQUESTED_LD)
STORE = (names.GLOBAL_REQUESTS_ST, names.GLOBAL_SECTORS_ST, names.GLOBAL_LINES_ST, names.GLOBAL_WAVEFRONTS_ST,
         names.GLOBAL_BYTES_REQUESTED_ST)
SHARED_LOAD = (names.SHARED_REQUESTS_LD, names.SHARED_WAVEFRONTS_LD, names.SHARED_CONFLICTS_LD, names.SHARED_BYTES_REQUESTED_LD)
SHARED_STORE = (names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST, names.SHARED_CONFLICTS_ST,
                names.SHARED_BYTES_REQUESTED_ST)
KIND = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "v4.u32"}
BRACES = "{%r1, %r2, %r3, %r4}"


def register(size: int) -> str:
    return {1: "%r1", 2: "%r1", 4: "%r1", 8: "%d1", 16: BRACES}[size]


def at(line: int, code: str) -> str:
    return f".loc 1 {line} 0\n{code}\n"


def of_line(counted, line: int, wanted: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(counted.lines.get((FILE, line), {}).get(name, 0) for name in wanted)


class Accesses:
    """Accesses of one warp or block in one kernel, each on a source line of its own, with the counters expected of it.

    Addresses are computed from the lane (the compiler knows the pattern) and, for every third case, again loaded from an array
    (it does not).
    """

    def __init__(self, space: str, verb: str):
        self.space, self.verb = space, verb
        self.cases: list[tuple[str, int, tuple[int, ...], object, tuple[int, ...]]] = []
        self.names = {("global", "ld"): LOAD, ("global", "st"): STORE, ("shared", "ld"): SHARED_LOAD,
                      ("shared", "st"): SHARED_STORE}[space, verb]

    def add(self, what: str, size: int, step: int, offset: int, expected: tuple[int, ...], lanes: int = 32) -> None:
        """Lane k accesses ``size`` bytes at offset + k * step; ``lanes``: how many run, by a guard."""
        self.cases.append((what, size, step, offset, lanes, expected))

    def text(self) -> str:
        base = "%a0" if self.space == "global" else "%d99"
        lines = ["mov.u32 %t, %laneid; mov.u64 %d99, tile; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a1, %w0;"]
        for number, (_, size, step, offset, lanes, _) in enumerate(self.cases):
            guard = "" if lanes == 32 else f"setp.lt.u32 %p1, %t, {lanes}; @%p1 "
            target, place = register(size), f"[%d2+{offset}]"
            access = f"{self.verb}.{self.space}.{KIND[size]} " + (
                f"{target}, {place};" if self.verb == "ld" else f"{place}, {target};")
            lines.append(at(2 * number + 1, f"mul.wide.s32 %d2, %t, {step}; add.s64 %d2, {base}, %d2; {guard}{access}"))
            if number % 3 == 0:
                lines += [at(9999, f"ld.global.u64 %d2, [%w1+{256 * number}]; add.u64 %d2, {base}, %d2;"),
                          at(2 * number + 2, guard + access)]
        return ".shared .align 128 .b8 tile[32768];\n" + "\n".join(lines)

    def check(self, bench) -> None:
        offsets = np.array([[lane * step for lane in range(32)] for _, _, step, *_ in self.cases], np.int64)
        counted = bench.kernel(self.text(), 2).count(np.zeros(32768, np.uint8), offsets)
        for number, (what, *_, expected) in enumerate(self.cases):
            for line, way in ((2 * number + 1, "computed"), (2 * number + 2, "loaded"))[:1 if number % 3 else 2]:
                assert of_line(counted, line, self.names) == expected, f"{what}, {way} addresses: {self.names}"


def test_global_loads_of_every_stride_touch_the_sectors_and_lines_that_they_span(bench):
    """4 bytes every ``stride`` words: one sector per 8 words and one line per 32 that hold a lane."""
    accesses = Accesses("global", "ld")
    for stride in range(1, 34):
        sectors, lines = 31 * stride // 8 + 1 if stride < 8 else 32, min(31 * stride // 32 + 1, 32)
        accesses.add(f"stride {stride}", 4, 4 * stride, 0, (1, sectors, lines, math.gcd(stride, 32), 128))
    accesses.check(bench)


@pytest.mark.parametrize(("verb", "store"), [("ld", False), ("st", True)], ids=["loads", "stores"])
def test_width_offset_direction_and_idle_lanes_change_global_counts_as_they_should(bench, verb, store):
    accesses = Accesses("global", verb)
    for size, sectors, lines, wavefronts in ((1, 1, 1, 1), (2, 2, 1, 1), (4, 4, 1, 1), (8, 8, 2, 2), (16, 16, 4, 4)):
        accesses.add(f"{size} bytes side by side", size, size, 0, (1, sectors, lines, wavefronts, 32 * size))
    for offset, sectors, lines in ((4, 5, 2), (28, 5, 2), (32, 4, 2), (64, 4, 2), (124, 5, 2), (128, 4, 1)):
        accesses.add(f"from byte {offset}", 4, 4, offset, (1, sectors, lines, 1, 128))
    accesses.add("one word for all", 4, 0, 200, (1, 1, 1, 1, 128))
    accesses.add("16 bytes for all", 16, 0, 208, (1, 1, 1, 4, 512))
    accesses.add("backwards", 4, -4, 124, (1, 4, 1, 1, 128))
    accesses.add("9 lanes", 4, 4, 0, (1, 2, 1, 1, 36), lanes=9)
    accesses.add("1 lane", 8, 8, 24, (1, 1, 1, 1, 8), lanes=1)
    accesses.add("17 lanes of 8 bytes", 8, 8, 0, (1, 5, 2, 2, 136), lanes=17)
    accesses.add("no lane", 4, 4, 0, (0, 0, 0, 0, 0), lanes=0)
    accesses.check(bench)


@pytest.mark.parametrize("verb", ["ld", "st"])
def test_shared_accesses_conflict_where_lanes_meet_in_a_bank(bench, verb):
    accesses = Accesses("shared", verb)
    for stride in range(34):
        wavefronts = math.gcd(stride, 32) if stride else 1
        accesses.add(f"words, stride {stride}", 4, 4 * stride, 0, (1, wavefronts, wavefronts - 1, 128))
    for stride, wavefronts in ((0, 2), (1, 2), (2, 4), (3, 2), (4, 8), (16, 32), (32, 32), (33, 2)):
        accesses.add(f"8 bytes, stride {stride}", 8, 8 * stride, 0, (1, wavefronts, wavefronts - 2, 256))
    for stride, wavefronts in ((0, 4), (1, 4), (2, 8), (3, 4), (8, 32), (32, 32), (33, 4)):
        accesses.add(f"16 bytes, stride {stride}", 16, 16 * stride, 0, (1, wavefronts, wavefronts - 4, 512))
    accesses.add("bytes side by side", 1, 1, 0, (1, 1, 0, 32))
    accesses.add("halves side by side", 2, 2, 0, (1, 1, 0, 64))
    accesses.add("bytes 128 apart", 1, 128, 0, (1, 32, 31, 32))
    accesses.add("9 lanes on one bank", 4, 128, 0, (1, 9, 8, 36), lanes=9)
    accesses.add("9 lanes of 16 bytes", 16, 16, 0, (1, 2, 0, 144), lanes=9)
    accesses.add("no lane", 4, 128, 0, (0, 0, 0, 0), lanes=0)
    accesses.check(bench)


@pytest.mark.parametrize("block", [(5, 7, 1), (40, 1, 1), (7, 3, 2)])
def test_partial_warps_and_odd_blocks_count_the_lanes_that_exist(bench, block):
    """Words at the linear index of the thread: a warp of 32 takes 4 sectors, one of k lanes ceil(k / 8)."""
    threads = math.prod(block)
    text = """mad.lo.u32 %r1, %tid.z, %ntid.y, %tid.y; mad.lo.u32 %r1, %r1, %ntid.x, %tid.x;
mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %a0, %d1; ld.global.u32 %r2, [%d1]; st.global.u32 [%d1], %r2;"""
    counted = bench.kernel(text, 1).count(np.zeros(256, np.uint32), block=block, grid=(2, 1, 1))
    full, rest = divmod(threads, 32)
    sectors, requests = 4 * full + -(-rest // 8), full + (rest > 0)
    for wanted in (LOAD, STORE):
        assert [counted.counters[name] for name in wanted] == [
            2 * requests, 2 * sectors, 2 * requests, 2 * requests, 2 * 4 * threads]
    assert counted.counters[names.THREAD_INSTRUCTIONS] == 2 * threads * 7
    assert counted.counters[names.INSTRUCTIONS] == 2 * requests * 7


def test_each_atomic_is_one_request_however_many_lanes_share_its_cells(bench):
    """32, 2 and 1 addresses, and 5 lanes by a guard."""
    lines = ["mov.u32 %t, %laneid; mov.u64 %d9, tile; and.b32 %r1, %t, 1; setp.lt.u32 %p1, %t, 5; mov.u32 %r5, 1;"]
    for number, cell in enumerate(("%t", "%r1", "0")):
        lines += [f"mul.wide.u32 %d1, {cell}, 4; add.u64 %d2, %a0, %d1; add.u64 %d3, %d9, %d1;",
                  at(3 * number + 1, "atom.global.add.u32 %r2, [%d2], %r5;"),
                  at(3 * number + 2, "red.shared.add.u32 [%d3], %r5;"),
                  at(3 * number + 3, "@%p1 atom.global.add.u32 %r2, [%d2], %r5;"), at(999, "")]
    memory = np.zeros(32, np.uint32)
    counted = bench.kernel(".shared .align 4 .b8 tile[128];" + "\n".join(lines), 1).count(memory, block=(64, 1, 1))
    wanted = (names.ATOMICS_GLOBAL, names.ATOMICS_SHARED, names.ATOMIC_LANES, names.ATOMIC_ADDRESSES, names.ATOMIC_PASSES)
    for number, (distinct, five) in enumerate(((32, 5), (2, 2), (1, 1))):
        crowd = 64 // distinct
        assert of_line(counted, 3 * number + 1, wanted) == (2, 0, 64, 2 * distinct, crowd)
        assert of_line(counted, 3 * number + 2, wanted) == (0, 2, 64, 2 * distinct, crowd)
        assert of_line(counted, 3 * number + 3, wanted) == (2, 0, 10, 2 * five, 2 * -(-5 // five))
    assert tuple(counted.counters[name] for name in wanted[:3]) == (12, 6, 3 * (64 + 64 + 10))
    # Cell 0 in global memory: one lane of each warp, twice; 16 and 3 lanes of each warp; one update of each warp, twice.
    assert counted.counters[names.ATOMIC_HOTTEST] == 2 * 2 + 2 * (16 + 3) + 2 * 2
    assert memory.sum() == 3 * (64 + 10)


@pytest.mark.parametrize(("update", "cell", "hottest"), [
    ("atom.global.add.u32 %r2, [%d2], %r5;", "0", 6), ("red.global.max.s32 [%d2], %r5;", "0", 6),
    ("atom.global.exch.b32 %r2, [%d2], %r5;", "0", 192), ("red.global.add.f32 [%d2], %f1;", "0", 192),
    ("red.global.add.u32 [%d2], %r5;", "%r1", 96), ("red.global.add.u32 [%d2], %r5;", "%t", 6),
])
def test_updates_of_one_address_add_up_over_the_grid_and_integers_of_a_warp_can_be_one(bench, update, cell, hottest):
    """6 warps of 32 lanes; the cells %r1 are 0 and 1, the cells %t 0 to 31."""
    body = "mov.u32 %t, %laneid; and.b32 %r1, %t, 1; mov.u32 %r5, 1; mov.f32 %f1, 0f3F800000; " \
        f"mul.wide.u32 %d1, {cell}, 4; add.u64 %d2, %a0, %d1; {update}"
    counted = bench.kernel(body, 1).count(np.zeros(32, np.uint32), grid=(3, 1, 1), block=(64, 1, 1))
    assert counted.counters[names.ATOMIC_HOTTEST] == hottest


KINDS = (
    ("fp32", "add.f32 %f1, %f1, %f1;"), ("fp32", "fma.rn.f32 %f1, %f1, %f1, %f1;"), ("fp64", "add.f64 %g1, %g1, %g1;"),
    ("fp64", "fma.rn.f64 %g1, %g1, %g1, %g1;"), ("fp16", "add.f16 %h1, %h1, %h1;"),
    ("fp16", "fma.rn.f16x2 %r1, %r1, %r1, %r1;"), ("int", "add.s32 %r2, %r2, 1;"), ("int", "popc.b32 %r2, %r2;"),
    ("imul", "mul.lo.s32 %r2, %r2, 3;"), ("imul", "mad.wide.u32 %d1, %r2, 4, %d1;"), ("logic", "and.b32 %r2, %r2, 7;"),
    ("logic", "setp.eq.s32 %p1, %r2, 3;"), ("logic", "mov.u32 %r3, %r2;"), ("logic", "selp.b32 %r3, 1, 2, %p1;"),
    ("sfu", "sin.approx.f32 %f2, %f1;"), ("sfu", "rcp.approx.f32 %f2, %f1;"), ("convert", "cvt.rn.f32.s32 %f2, %r2;"),
    ("load_global", "ld.global.u32 %r4, [%a0];"), ("store_global", "st.global.u32 [%a0], %r4;"),
    ("load_shared", "ld.shared.u32 %r4, [tile];"), ("store_shared", "st.shared.u32 [tile], %r4;"),
    ("load_local", "ld.local.u32 %r4, [frame];"), ("store_local", "st.local.u32 [frame], %r4;"),
    ("load_generic", "ld.u32 %r4, [%a0];"), ("store_generic", "st.u32 [%a0], %r4;"), ("warp", "bar.warp.sync -1;"),
    ("load_param", "ld.param.u64 %d5, [p0];"), ("load_param", "ld.const.u32 %r4, [table];"),
    ("atomic", "red.global.add.u32 [%a0], 1;"), ("warp", "shfl.sync.idx.b32 %r5, %r4, 0, 31, -1;"),
    ("warp", "activemask.b32 %r5;"), ("barrier", "bar.sync 0;"), ("other", "membar.gl;"),
    ("branch", "@%p1 bra NEXT; NEXT:"),
)
FLOPS = {names.FLOPS_FP32: 1 + 2 + 1 + 1, names.FLOPS_FP64: 1 + 2, names.FLOPS_FP16: 1 + 4}     # add, fma, sin, rcp; …


def one_of_each(repeat: int) -> str:
    lines = [at(number + 1, code.replace("NEXT", f"NEXT{k}"))
             for k in range(repeat) for number, (_, code) in enumerate(KINDS)]
    return ".shared .align 4 .b8 tile[4]; .local .align 4 .b8 frame[8];\n" + "".join(lines)


TABLE = ".const .align 4 .u32 table[1] = {5};"


def test_instructions_are_counted_by_class_with_their_lanes_and_flops(bench):
    """Each kind in KINDS runs twice in each of 3 warps of 32, 32 and 6 lanes, in 2 blocks."""
    counted = bench.kernel(one_of_each(2), 1, TABLE).count(np.zeros(1, np.uint32), grid=(2, 1, 1), block=(70, 1, 1))
    for number, (kind, code) in enumerate(KINDS):
        wanted = (names.INSTRUCTIONS, names.THREAD_INSTRUCTIONS, names.instructions(kind))
        assert of_line(counted, number + 1, wanted) == (2 * 3 * 2, 2 * 70 * 2, 2 * 3 * 2), code
    by_kind = {kind: sum(kind == own for own, _ in KINDS) for kind in names.KINDS}
    by_kind["load_param"] += 0.5        # the bench's own read of its argument, once
    for kind, count in by_kind.items():
        assert counted.counters[names.instructions(kind)] == count * 12, kind
    for name, flops in FLOPS.items():
        assert counted.counters[name] == flops * 2 * 70 * 2
    assert counted.counters[names.BARRIERS] == 12
    assert (counted.counters[names.LOCAL_REQUESTS_LD], counted.counters[names.LOCAL_REQUESTS_ST]) == (12, 12)


def test_every_counter_in_the_list_is_counted(bench):
    """A name without a counter would show zero for ever."""
    text = one_of_each(1) + "mov.u32 %r9, %laneid; mul.wide.u32 %d9, %r9, 128; mov.u64 %d8, wide; add.u64 %d8, %d8, %d9; " \
        "ld.shared.u32 %r8, [%d8]; st.shared.u32 [%d8], %r8; red.shared.add.u32 [%d8], 1; "\
        "setp.eq.u32 %p7, %r9, 3; @%p7 bra DONE; st.global.u32 [%a0], %r9; DONE: .shared .align 4 .b8 wide[4096];"
    counted = bench.kernel(text, 1, TABLE).count(np.zeros(4096, np.uint32))
    every = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)} - {*names.SIMULATED}
    every |= {names.instructions(kind) for kind in names.KINDS}
    assert {name for name in every if not counted.counters.get(name)} == set()
    assert set(counted.counters) <= every
    assert set(counted.tags) == set(counted.counters)


def test_divergent_and_guarded_code_counts_the_lanes_that_take_it(bench):
    """11 of 32 lanes take the branch; a guard lets 5 of them through; a loop turns once per lane number, as long as any lane
    stays."""
    text = f"""mov.u32 %t, %laneid; setp.ge.u32 %p1, %t, 11; setp.lt.u32 %p2, %t, 5; mov.u32 %r1, 0;
{at(1, "@%p1 bra SKIP;")}{at(2, "add.u32 %r2, %t, 1;")}
{at(3, "@%p2 add.f32 %f1, %f1, %f1;")}{at(4, "@!%p2 add.f32 %f1, %f1, %f1;")}
SKIP: LOOP:
{at(5, "setp.ge.u32 %p3, %r1, %t;")}{at(6, "@%p3 bra DONE;")}{at(7, "add.u32 %r1, %r1, 1;")}{at(8, "bra LOOP;")}
DONE:"""
    counted = bench.kernel(text, 0).count()
    wanted = (names.INSTRUCTIONS, names.THREAD_INSTRUCTIONS, names.FLOPS_FP32)
    turns = sum(range(32))
    expected = {1: (1, 32, 0), 2: (1, 11, 0), 3: (1, 5, 5), 4: (1, 6, 6), 5: (32, turns + 32, 0), 6: (32, turns + 32, 0),
                7: (31, turns, 0), 8: (31, turns, 0)}
    assert {line: of_line(counted, line, wanted) for line in expected} == expected


def test_the_end_of_a_thread_is_no_instruction(bench):
    """ret counts nothing, wherever it stands; a guarded one counts as the branch that it is."""
    for text, count in (("add.u32 %r1, %r1, 1;", 1), ("add.u32 %r1, %r1, 1; bra END; END:", 2), ("ret;", 0),
                        ("mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 9; @%p1 ret; add.u32 %r1, %r1, 1;", 4)):
        assert bench.kernel(text, 0).count().counters.get(names.INSTRUCTIONS, 0) == count, text


def test_blocks_pay_once_for_a_sector_and_the_grid_for_an_allocation(bench):
    """Two warps of each block read the same 128 bytes twice and write 3 sectors; 5 blocks."""
    text = """mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4; add.u64 %d2, %a0, %d1; ld.global.u32 %r1, [%d2];
ld.global.u32 %r1, [%d2];
setp.ge.u32 %p1, %t, 20; @%p1 bra DONE; add.u64 %d3, %a1, %d1; st.global.u32 [%d3], %r1; DONE:"""
    arrays = np.zeros(500, np.uint32), np.zeros(300, np.uint32)
    counted = bench.kernel(text, 2).count(*arrays, grid=(5, 1, 1), block=(64, 1, 1)).counters
    assert (counted[names.BLOCK_SECTORS_LD], counted[names.BLOCK_SECTORS_ST]) == (5 * 4, 5 * 3)
    assert (counted[names.GLOBAL_SECTORS_LD], counted[names.GLOBAL_SECTORS_ST]) == (5 * 2 * 2 * 4, 5 * 2 * 3)
    assert (counted[names.FOOTPRINT_BYTES_LD], counted[names.FOOTPRINT_BYTES_ST]) == (2000, 1200)


def test_generic_accesses_count_in_the_space_that_they_mean(bench):
    """Even lanes mean a shared array, odd ones a global one; then all lanes their local array."""
    text = """.local .align 4 .b8 mine[8]; mov.u32 %t, %laneid; mul.wide.u32 %d1, %t, 4;
mov.u64 %d9, tile; cvta.shared.u64 %d9, %d9;
add.u64 %d2, %d9, %d1; add.u64 %d3, %a0, %d1; and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; selp.b64 %d4, %d2, %d3, %p1;
.loc 1 1 0
st.u32 [%d4], %t;
.loc 1 2 0
ld.u32 %r2, [%d4];
.loc 1 3 0
atom.add.u32 %r3, [%d4], 1;
mov.u64 %d5, mine; cvta.local.u64 %d5, %d5;
.loc 1 4 0
st.u32 [%d5], %t;
.loc 1 5 0
ld.u32 %r4, [%d5+4];
.loc 1 6 0
"""
    memory = np.zeros(32, np.uint32)
    counted = bench.kernel(text, 1, ".shared .align 4 .b8 tile[128];").count(memory)
    assert of_line(counted, 1, STORE) == (1, 4, 1, 1, 64) and of_line(counted, 2, LOAD) == (1, 4, 1, 1, 64)
    shared = (names.SHARED_REQUESTS_ST, names.SHARED_WAVEFRONTS_ST, names.SHARED_BYTES_REQUESTED_ST)
    assert of_line(counted, 1, shared) == (1, 1, 64)
    assert of_line(counted, 3, (names.ATOMICS_GLOBAL, names.ATOMICS_SHARED, names.ATOMIC_LANES)) == (1, 1, 32)
    local = (names.LOCAL_REQUESTS_ST, names.LOCAL_REQUESTS_LD)
    assert of_line(counted, 4, local) == (1, 0) and of_line(counted, 5, local) == (0, 1)
    assert of_line(counted, 4, STORE) == of_line(counted, 5, LOAD) == (0,) * 5
    assert [counted.counters[names.instructions(kind)] for kind in ("store_generic", "store_global")] == [2, 0]
    assert memory.tolist() == [t + 1 if t % 2 else 0 for t in range(32)]


def test_syncwarp_is_no_barrier_of_the_block(bench):
    counted = bench.kernel("bar.warp.sync 0xFFFFFFFF; bar.sync 0; bar.warp.sync 0xFFFFFFFF;", 0).count(block=(64, 1, 1))
    assert counted.counters[names.BARRIERS] == counted.counters[names.instructions("barrier")] == 2
    assert counted.counters[names.instructions("warp")] == 4


def test_a_branch_diverges_where_lanes_of_a_warp_go_both_ways(bench):
    """Warps of 32, 32 and 6 lanes: 5 lanes of the first branch off, and none or all of the others."""
    text = """mov.u32 %t, %tid.x; setp.lt.u32 %p1, %t, 5;
.loc 1 1 0
@%p1 bra FEW;
st.global.u32 [%a0+4], %t;
FEW: setp.lt.u32 %p2, %t, 32;
.loc 1 2 0
@%p2 bra WARP;
st.global.u32 [%a0], %t;
WARP: setp.lt.u32 %p3, %t, 1000;
.loc 1 3 0
@%p3 bra ALL;
st.global.u32 [%a0+8], %t;
ALL:
"""
    counted = bench.kernel(text, 1).count(np.zeros(3, np.uint32), block=(70, 1, 1), grid=(2, 1, 1))
    assert [of_line(counted, line, (names.DIVERGENT_BRANCHES,)) for line in (1, 2, 3)] == [(2,), (0,), (0,)]


def test_lanes_whose_guard_does_not_hold_are_active_and_do_not_execute(bench):
    text = """mov.u32 %t, %laneid; setp.lt.u32 %p1, %t, 9;
.loc 1 1 0
@%p1 add.u32 %r1, %t, 1;
.loc 1 2 0
@!%p1 st.global.u32 [%a0], %t;
.loc 1 3 0
"""
    counted = bench.kernel(text, 1).count(np.zeros(1, np.uint32))
    wanted = (names.INSTRUCTIONS, names.ACTIVE_THREAD_INSTRUCTIONS, names.THREAD_INSTRUCTIONS)
    assert of_line(counted, 1, wanted) == (1, 32, 9) and of_line(counted, 2, wanted) == (1, 32, 23)


def test_the_addresses_of_one_warp_are_kept_for_each_access(bench):
    text = """.shared .align 8 .b8 tile[512]; mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 12; add.u64 %d2, %a0, %d1;
.loc 1 5 0
ld.global.u32 %r1, [%d2+4];
mul.wide.u32 %d3, %t, 8; mov.u64 %d4, tile; add.u64 %d4, %d4, %d3; cvt.u64.u32 %d5, %r1; setp.lt.u32 %p1, %t, 3;
.loc 1 6 0
@%p1 st.shared.u64 [%d4], %d5;
"""
    counted = bench.kernel(text, 1).count(np.zeros(12 * 40, np.uint8), block=(40, 1, 1), grid=(3, 1, 1), threads=2)
    load, store = counted.samples
    assert (load.line, load.space, load.action, load.bytes, load.mask) == (5, "global", "load", 4, 0xFFFFFFFF)
    assert [address - load.addresses[0] for address in load.addresses] == [12 * t for t in range(32)]
    assert (store.line, store.space, store.action, store.bytes, store.mask) == (6, "shared", "store", 8, 0b111)
    assert store.addresses[:3] == (0, 8, 16)
