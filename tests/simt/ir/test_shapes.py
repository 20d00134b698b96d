"""How values vary over the lanes of a warp, which numbers they can be, and which are known while compiling."""
from __future__ import annotations

import itertools

import pytest

from simt.ir.divergence import special_shape
from simt.ir.known import thread_count, thread_index
from simt.ir.shapes import UNIFORM, VARYING, Shape, meet
from simt.isa.table import Unsupported

RAMP, HALF_RAMP = tuple(range(32)), tuple(range(16)) * 2


@pytest.mark.parametrize(("block", "x", "y", "z"), [
    ((32, 8, 1), Shape(1, RAMP), UNIFORM, UNIFORM), ((100, 1, 1), Shape(1, RAMP), UNIFORM, UNIFORM),
    ((16, 16, 1), Shape(1, HALF_RAMP), Shape(1, (0,) * 16 + (1,) * 16), UNIFORM),
    ((8, 8, 8), Shape(1, tuple(range(8)) * 4), Shape(1, tuple(lane // 8 for lane in range(32))), UNIFORM),
    ((48, 3, 1), Shape(2, HALF_RAMP), Shape(2), UNIFORM), ((1, 1, 64), UNIFORM, UNIFORM, Shape(1, RAMP)),
    ((5, 7, 1), Shape(1, tuple(lane % 5 for lane in range(32))), Shape(1, tuple(lane // 5 for lane in range(32))), UNIFORM),
    ((24, 8, 1), VARYING, VARYING, UNIFORM), ((3, 11, 3), VARYING, VARYING, VARYING)])
def test_thread_indices_have_the_shape_of_the_block(block, x, y, z):
    assert tuple(special_shape(f"%tid.{axis}", block) for axis in "xyz") == (x, y, z)


@pytest.mark.parametrize("block", [*itertools.product((1, 2, 5, 8, 16, 48, 100), (1, 3, 8), (1, 2)), (1024, 1, 1), (4, 4, 64)])
def test_bases_and_offsets_give_every_thread_its_index(block):
    count = thread_count(block)
    for axis in "xyz":
        shape = special_shape(f"%tid.{axis}", block)
        for linear in range(count if shape.bases else 0):
            lane = linear % 32
            first = linear - (lane if shape.bases == 1 else lane % 16)
            assert thread_index(block, axis, linear) == thread_index(block, axis, first) + shape.offsets[lane]


def test_the_meeting_of_two_shapes_covers_both():
    ramp, half = Shape(1, RAMP), Shape(2, HALF_RAMP)
    assert meet(ramp, ramp) == ramp and meet(None, ramp) == ramp and meet(ramp, None) == ramp
    assert meet(ramp, half) == half         # the ramp is one base per half warp too
    assert meet(UNIFORM, Shape(2)) == Shape(2)
    assert meet(ramp, UNIFORM) == VARYING and meet(half, VARYING) == VARYING


INDEX = """mad.lo.u32 %r1, %ctaid.y, %ntid.x, %tid.x; cvt.s64.s32 %d1, %r1; mul.wide.s32 %d2, %r1, 4; add.u64 %d3, %a0, %d2;
ld.global.u32 %r2, [%d3]; ld.global.u32 %r3, [%a1]; add.u32 %r4, %r3, %tid.x; shl.b32 %r5, %r4, 2; sub.u32 %r6, 7, %r5;
mul.lo.u32 %r7, %r4, %r3; mul.lo.u32 %r8, %tid.x, %r3; xor.b32 %r9, %r4, 5; cvt.u64.u32 %d4, %r4; cvt.u16.u32 %h1, %r4;
cvt.u8.u32 %r10, %r4; mov.b32 %f1, %r4; setp.lt.u32 %p1, %r3, 5; setp.lt.u32 %p2, %tid.x, 5; selp.b32 %r11, %r4, %r4, %p1;
selp.b32 %r12, 1, 2, %p1; selp.b32 %r13, 1, 2, %p2; @%p1 mov.u32 %r3, 9; @%p2 mov.u32 %r12, 9;"""


def test_index_arithmetic_keeps_a_base_and_offsets_as_long_as_nothing_wraps(analysed):
    of = analysed(INDEX).shapes.of_value
    step = {width: Shape(1, tuple(width * lane for lane in RAMP)) for width in (1, 4, -4)}
    assert (of["%r1"], of["%d1"], of["%d2"], of["%d3"]) == (step[1], step[1], step[4], step[4])
    assert (of["%r2"], of["%r3.1"]) == (VARYING, UNIFORM)
    assert (of["%r4"], of["%r5"], of["%r6"], of["%h1"], of["%r11"]) == (step[1], step[4], step[-4], step[1], step[1])
    for name in ("%r7", "%r8", "%r9"):
        assert of[name] == VARYING, "not a base plus constants"
    assert of["%d4"] == VARYING, "the sum may wrap in 32 bits"
    assert of["%r10"] == VARYING, "the low byte may wrap within the warp"
    assert of["%f1"] == VARYING, "a float plus a constant is not these bits plus a constant"
    assert (of["%r12.1"], of["%r3.2"]) == (UNIFORM, UNIFORM)
    assert not of["%r13"].flat and of["%r12.2"] == VARYING, "a predicate of the lanes sets them apart"


@pytest.mark.parametrize(("code", "expected"), [
    ("add.s32 %r1, %tid.x, 5;", (5, 36)), ("sub.s32 %r1, %tid.x, 40;", (-40, -9)), ("mul.lo.s32 %r1, %tid.x, -3;", (-93, 0)),
    ("shl.b32 %r1, %tid.x, 4;", (0, 31 << 4)), ("and.b32 %r1, %r9, 12;", (0, 12)), ("and.b32 %r1, %r9, -8;", None),
    ("shr.u32 %r1, %ctaid.x, 3;", (0, (2**31 - 1) >> 3)), ("shr.u32 %r1, %ctaid.x, 0xFFFFFFFF;", (0, 0)),
    ("add.s32 %r1, %ctaid.x, 1;", None), ("mul.lo.s32 %r1, %ctaid.y, 65535;", None),
    ("mul.lo.s32 %r1, %ctaid.y, 32768;", (0, 65535 * 32768)), ("neg.s32 %r1, %ctaid.y;", (-65535, 0)),
    ("min.s32 %r1, %ctaid.y, 100;", (0, 100)), ("max.s32 %r1, %ctaid.y, 100;", (100, 65535)),
    ("min.u32 %r1, %ctaid.y, -1;", None), ("mad.lo.s32 %r1, %ctaid.y, 4, %tid.x;", (0, 65535 * 4 + 31)),
    ("mov.u32 %r1, %ntid.x;", (32, 32)), ("mov.u32 %r1, 0xFFFFFFFF;", (-1, -1)), ("mov.u32 %r1, %r9;", None),
    ("shl.b32 %r1, %ctaid.y, 20;", None), ("shl.b32 %r1, %tid.x, 32;", (0, 0)), ("cvt.u8.s32 %r1, %ctaid.y;", None),
    ("sub.s32 %r2, %ctaid.y, 1; cvt.u8.s32 %r1, %r2;", None), ("and.b32 %r2, %r9, 127; cvt.u8.u32 %r1, %r2;", (0, 127)),
    ("and.b32 %r2, %r9, 511; cvt.s32.s8 %r1, %r2;", None), ("neg.s32 %r2, %ctaid.y; shr.s32 %r1, %r2, 1;", None),
    ("selp.s32 %r1, 3, -4, %p1;", (-4, 3)), ("@%p1 mov.u32 %r1, 4;", None)])
def test_ranges_hold_what_arithmetic_can_give_and_nothing_where_it_may_wrap(analysed, code, expected):
    kernel = analysed(f"ld.global.u32 %r9, [%a0]; setp.eq.u32 %p1, %r9, 0; {code} st.global.u32 [%a0], %r1;")
    assert kernel.ranges.known.get("%r1") == expected


def test_the_fix_up_of_negative_indices_folds_away(analysed):
    """Numba adds the extent to negative indices: shift the sign down, mask the extent, add."""
    kernel = analysed("mad.lo.s32 %r1, %ctaid.y, 16, %tid.y; cvt.s64.s32 %d1, %r1; shr.u64 %d2, %d1, 63; neg.s64 %d3, %d2; "
                      "and.b64 %d4, %d3, %a1; add.s64 %d5, %d4, %d1;", (16, 16, 1))
    assert kernel.ranges.fixed("%d2") == 0 and kernel.ranges.fixed("%d4") == 0
    assert kernel.shapes.of_value["%d5"] == Shape(1, (0,) * 16 + (1,) * 16)


@pytest.mark.parametrize(("code", "value"), [
    ("rem.u32 %r1, %tid.x, 5;", lambda x, y: x % 5), ("div.u32 %r1, %tid.x, 3;", lambda x, y: x // 3),
    ("mad.lo.u32 %r2, %tid.y, 12, %tid.x; rem.u32 %r1, %r2, 16;", lambda x, y: (y * 12 + x) % 16),
    ("xor.b32 %r2, %tid.x, %tid.y; and.b32 %r1, %r2, 7;", lambda x, y: (x ^ y) & 7),
    ("cvt.u64.u32 %d1, %tid.x; mul.lo.u64 %d2, %d1, %d1; cvt.u32.u64 %r1, %d2;", lambda x, y: x * x),
    ("setp.lt.u32 %p1, %tid.x, %tid.y; selp.u32 %r1, 1, 0, %p1;", lambda x, y: x < y),
    ("mul.lo.s32 %r1, %tid.x, -1;", lambda x, y: -x % (1 << 32)),
    ("add.u32 %r2, %tid.x, 120; cvt.s8.u32 %r1, %r2;", lambda x, y: x + 120 if x < 8 else (x - 136) % (1 << 32)),
    ("add.u32 %r2, %tid.x, 250; cvt.u8.u32 %r1, %r2;", lambda x, y: (x + 250) % 256)])
def test_values_that_depend_on_the_thread_alone_are_worked_out_while_compiling(analysed, code, value):
    kernel = analysed(code + " st.global.u32 [%a0], %r1;", (12, 5, 1))
    assert kernel.known.values["%r1"][:60] == tuple(int(value(t % 12, t // 12)) for t in range(60))


def test_division_by_a_power_of_two_of_the_block_gives_one_value_per_half_warp(analysed):
    of = analysed("div.u32 %r1, %tid.x, 16; rem.u32 %r2, %tid.x, 16; rem.u32 %r3, %tid.x, 3; div.u32 %r4, %tid.x, 32;",
                  (128, 1, 1)).shapes.of_value
    assert of["%r1"] == Shape(1, (0,) * 16 + (1,) * 16) and of["%r2"] == Shape(1, HALF_RAMP)
    assert of["%r3"] == VARYING and of["%r4"] == UNIFORM


def test_what_is_loaded_or_guarded_is_not_known(analysed):
    kernel = analysed("ld.global.u32 %r1, [%a0]; add.u32 %r2, %r1, %tid.x; setp.lt.u32 %p1, %tid.x, 3; "
                      "@%p1 add.u32 %r3, %tid.x, 1;")
    assert not {"%r1", "%r2", "%r3"} & kernel.known.values.keys()


def test_an_unknown_opcode_names_its_line(analysed):
    with pytest.raises(Unsupported, match=r"no row for frobnicate\.b32 \(PTX line 9"):
        analysed("add.u32 %r1, %r1, 1;\nfrobnicate.b32 %r1, %r2;")
