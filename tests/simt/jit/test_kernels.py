"""What the JIT adds around instructions: memory order within a thread, state across barriers, special registers, variables."""
from __future__ import annotations

import numpy as np
import pytest

from simt.jit import cache

THREADS = 75


def linear(code: str) -> str:
    """%t: the linear thread; %w1, %w2, …: its 8-byte element of rows 0, 1, … of %a0."""
    return f"""mad.lo.u32 %t, %tid.z, %ntid.y, %tid.y; mad.lo.u32 %t, %t, %ntid.x, %tid.x; mul.wide.u32 %w0, %t, 8;
add.u64 %w1, %a0, %w0;
{code}"""


def row(number: int) -> str:
    return f"[%w1+{8 * THREADS * number}]"


def results(rows: int) -> np.ndarray:
    return np.zeros((rows, THREADS), np.uint64)


ALIASES = {"global": ("global", "%w2", "global", "%w3"), "generic and global": ("", "%w2", "global", "%w3"),
           "global and generic": ("global", "%w2", "", "%w3"), "shared": ("shared", "%d1", "shared", "%d2"),
           "shared and generic": ("shared", "%d1", "", "%d3"), "generic and shared": ("", "%d3", "shared", "%d2")}


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("update", ["store", "guarded store", "atomic"])
def test_a_load_after_a_write_by_another_address_sees_it(bench, name, update):
    """Loads of one base are done together only as long as nothing is written in between."""
    first, a, second, b = ALIASES[name]
    dot_first, dot_second = (f".{space}" if space else "" for space in (first, second))
    write = {"store": f"st{dot_second}.u64 [{b}], 7;", "guarded store": f"@%p1 st{dot_second}.u64 [{b}], 7;",
             "atomic": f"red{dot_second}.add.u64 [{b}], 7;"}[update]
    body = ".shared .align 8 .b8 tile[1024];" + linear(f"""mov.u64 %d0, tile; add.u64 %d1, %d0, %w0; xor.b64 %d2, %w0, %a1;
add.u64 %d2, %d2, %d0; cvta.shared.u64 %d3, %d1; add.u64 %w2, %a0, %w0; add.u64 %w3, %w1, %a1; setp.lt.u32 %p1, %t, 40;
st{dot_first}.u64 [{a}], 1; ld{dot_first}.u64 %d10, [{a}]; ld{dot_first}.u64 %d11, [{a}]; {write} ld{dot_first}.u64 %d12, [{a}];
ld.volatile{dot_first}.u64 %d13, [{a}]; st.global.u64 {row(1)}, %d10; st.global.u64 {row(2)}, %d11;
st.global.u64 {row(3)}, %d12;
st.global.u64 {row(4)}, %d13;""")
    out = results(5)
    bench.kernel(body, 2)(out, 0, block=(THREADS, 1, 1))
    after = [8 if update == "atomic" else 7 if update == "store" or t < 40 else 1 for t in range(THREADS)]
    assert (out[1] == 1).all() and (out[2] == 1).all()
    assert out[3].tolist() == after and out[4].tolist() == after


def test_values_of_every_shape_and_type_survive_barriers(bench):
    """Uniform, affine, one per half warp, varying; predicates, 16 to 64 bits and floats; across three barriers in a loop."""
    body = linear("""ld.global.u64 %d1, [%w1]; cvt.u32.u64 %r1, %d1; cvt.u16.u64 %h1, %d1; cvt.rn.f32.u32 %f1, %r1;
cvt.rn.f64.u32 %g1, %r1;
setp.gt.u32 %p1, %r1, 500; mov.u32 %r2, %tid.x; shr.u32 %r3, %t, 4; cvt.u32.u64 %r4, %a1; add.u32 %r5, %r2, %r4;
setp.lt.u32 %p2, %r2, 9;
setp.gt.u32 %p3, %r4, 9; mov.u32 %r9, 0;
LOOP: bar.sync 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 3; @%p4 bra LOOP;
selp.u64 %d2, 1, 0, %p1; selp.u64 %d3, 1, 0, %p2; selp.u64 %d4, 1, 0, %p3; cvt.rzi.u64.f32 %d5, %f1; cvt.rzi.u64.f64 %d6, %g1;
cvt.u64.u16 %d7, %h1; cvt.u64.u32 %d8, %r3; cvt.u64.u32 %d9, %r5; cvt.u64.u32 %d10, %r9;
""" + "".join(f"st.global.u64 {row(k)}, %d{k + 1};" for k in range(10)))
    inputs = np.random.default_rng(20250609).integers(0, 1000, THREADS).astype(np.uint64)
    out = results(10)
    out[0] = inputs
    for block in ((THREADS, 1, 1), (15, 5, 1)):
        bench.kernel(body, 2)(out, 100, block=block)
        threads = np.arange(THREADS)
        x = threads % block[0]
        wanted = (inputs, inputs > 500, x < 9, np.ones(THREADS), inputs, inputs, inputs, threads // 16, x + 100,
                  np.full(THREADS, 3))
        for number, expected in enumerate(wanted):
            assert np.array_equal(out[number], expected.astype(np.uint64)), f"row {number}, block {block}"


def test_shared_memory_is_one_per_block_and_local_memory_one_per_thread(bench):
    """Blocks leave numbers in static, dynamic and local memory; the next block of the same worker starts over."""
    body = """.shared .align 4 .b8 cell[4]; .local .align 4 .b8 frame[8];
mov.u32 %r1, %ctaid.x; mov.u32 %t, %tid.x; setp.ne.u32 %p1, %t, 0; @%p1 bra WAIT; st.shared.u32 [cell], %r1;
st.shared.u32 [dynamic], %r1;
st.shared.u32 [dynamic+4], %r1;
WAIT: st.local.u32 [frame+4], %t; bar.sync 0; ld.shared.u32 %r2, [cell]; ld.shared.u32 %r3, [dynamic+4];
ld.local.u32 %r4, [frame+4];
mad.lo.u32 %r5, %r1, 40, %t; mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %a0, %d1; mad.lo.u32 %r6, %r2, 100, %r3;
mad.lo.u32 %r6, %r6, 100, %r4;
st.global.u32 [%d1], %r6;"""
    out = np.zeros((50, 40), np.uint32)
    kernel = bench.kernel(body, 1, ".extern .shared .align 4 .b8 dynamic[];")
    kernel(out, grid=(50, 1, 1), block=(40, 1, 1), shared=8, threads=2)
    assert np.array_equal(out, (np.arange(50) * 10100)[:, None] + np.arange(40))


def test_special_registers_tell_the_place_of_a_thread(bench):
    names = [*(f"%{stem}.{axis}" for stem in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
             "%laneid", "%warpid", "%nwarpid",
             *(f"%lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")), "%dynamic_smem_size"]
    body = linear("mad.lo.u32 %r1, %ctaid.z, %nctaid.y, %ctaid.y; mad.lo.u32 %r1, %r1, %nctaid.x, %ctaid.x; "
                  f"mad.wide.u32 %w1, %r1, {8 * THREADS * len(names)}, %w1;" + "".join(
                      f"mov.u32 %r2, {name}; cvt.u64.u32 %d2, %r2; st.global.u64 {row(k)}, %d2;"
                      for k, name in enumerate(names)))
    block, grid = (5, 5, 3), (2, 3, 2)
    out = np.zeros((12, len(names), THREADS), np.uint64)
    bench.kernel(body, 1)(out, grid=grid, block=block, shared=24)
    for number in range(12):
        for t in range(THREADS):
            lane = t % 32
            place = [t % 5, t // 5 % 5, t // 25, *block, number % 2, number // 2 % 3, number // 6, *grid, lane, t // 32, 3]
            masks = [1 << lane, (1 << lane) - 1, (2 << lane) - 1, -(2 << lane) % (1 << 32), -(1 << lane) % (1 << 32)]
            assert out[number, :, t].tolist() == [*place, *masks, 24]


def test_module_variables_hold_their_initial_values_and_keep_what_is_written(bench):
    declarations = """.global .align 4 .u32 numbers[4] = {1, 2, 0xFFFFFFFF};
.const .align 8 .f64 half[1] = {0d3FE0000000000000};
.global .align 8 .u64 place[2] = {numbers, generic(numbers)+8}; .global .align 1 .b8 text[3] = {72, 105, 0};
.global .u32 zero;"""
    declarations = declarations.replace("generic(numbers)+8", "numbers+8")
    body = linear("""mov.u64 %d1, numbers; ld.global.u32 %d2, [%d1+8]; st.global.u64 [%w1], %d2;
ld.const.f64 %g1, [half]; mov.b64 %d3, %g1;
ld.global.u64 %d4, [place+8]; ld.global.u32 %d5, [%d4]; ld.global.u8 %d6, [text+1]; atom.global.add.u32 %r1, [zero], 1;
""" + f"st.global.u64 {row(1)}, %d3; st.global.u64 {row(2)}, %d5; st.global.u64 {row(3)}, %d6;")
    kernel, out = bench.kernel(body, 1, declarations), results(4)
    for turn in (1, 2):
        kernel(out, block=(THREADS, 1, 1))
        assert [set(line.tolist()) for line in out] == [{0xFFFFFFFF}, {0x3FE0000000000000}, {0xFFFFFFFF}, {105}]
        address, size = kernel.program.globals["zero"]
        assert size == 4 and np.ctypeslib.ctypes.c_uint32.from_address(address).value == turn * THREADS


def test_a_predicate_source_may_be_negated(bench):
    body = linear(f"""setp.lt.u32 %p1, %t, 20; activemask.b32 %r9; vote.sync.ballot.b32 %r1, !%p1, %r9; cvt.u64.u32 %d1, %r1;
setp.eq.and.u32 %p2, 1, 1, !%p1; selp.u64 %d2, 1, 0, %p2; bar.red.popc.u32 %r3, 0, !%p1; cvt.u64.u32 %d3, %r3;
st.global.u64 {row(0)}, %d1; st.global.u64 {row(1)}, %d2; st.global.u64 {row(2)}, %d3;""")
    out = results(3)
    bench.kernel(body, 1)(out, block=(THREADS, 1, 1))
    ballots = [0xFFFFFFFF & ~((1 << 20) - 1), 0xFFFFFFFF, (1 << 11) - 1]
    assert out[0].tolist() == [ballots[t // 32] for t in range(THREADS)]
    assert out[1].tolist() == [t >= 20 for t in range(THREADS)] and (out[2] == 55).all()


def test_a_kernel_that_was_compiled_before_comes_from_the_disk(bench, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    bench.kernel("add.u32 %r1, %tid.x, 77;", 0)()
    assert list(tmp_path.iterdir())
    monkeypatch.setattr(cache, "save", lambda text, code: pytest.fail("compiled again"))
    bench.kernel("add.u32 %r1, %tid.x, 77;", 0)()
