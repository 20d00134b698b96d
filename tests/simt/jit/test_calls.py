"""Calls through pointers, calls whose declaration is wider than the function, and device memory from malloc."""
from __future__ import annotations

import numpy as np
import pytest

from simt.isa import find
from simt.isa.calls import HEAP_BYTES
from simt.runtime.faults import Fault

INVALID_PC, FAILED = 718, 719
LANES = 32
FUNCTIONS = """
.visible .func (.param .b32 result) twice(.param .b32 x) { .reg .b32 %r<3>;
ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }
.visible .func (.param .b32 result) square(.param .b32 x) { .reg .b32 %r<3>;
ld.param.b32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret; }
.visible .func (.param .b32 result) never_pointed_to(.param .b32 x) { .reg .b32 %r<3>; st.param.b32 [result], 5; ret; }
.visible .func store_seven(.param .b64 at) { .reg .b64 %d<2>; ld.param.b64 %d1, [at]; st.global.u32 [%d1], 7; ret; }
.global .align 8 .u64 table[2] = {twice, square};
.extern .func (.param .b64 result) malloc(.param .b64 size);
.extern .func free(.param .b64 address);
"""
ELEMENT = "mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 4; add.u64 %w1, %a0, %w0;"
CALL_POINTER = """{ .param .b32 x; .param .b32 result; st.param.b32 [x], %t;
prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
call (result), %d1, (x), prototype; ld.param.b32 %r1, [result]; st.global.u32 [%w1], %r1; }"""


def test_lanes_may_call_different_functions_through_a_pointer(bench):
    """The pointers come from a table in global memory and from mov."""
    body = f"""{ELEMENT} and.b32 %r2, %t, 1; mul.wide.u32 %d2, %r2, 8; mov.u64 %d3, table; add.u64 %d2, %d2, %d3;
ld.global.u64 %d1, [%d2];
setp.eq.u32 %p1, %t, 9; @%p1 mov.u64 %d1, twice; {CALL_POINTER}"""
    out = np.zeros(LANES, np.uint32)
    bench.kernel(body, 1, FUNCTIONS)(out)
    assert out.tolist() == [2 * t if t % 2 == 0 or t == 9 else t * t for t in range(LANES)]


def test_a_guarded_call_through_a_pointer_is_made_by_the_lanes_that_hold_the_guard(bench):
    body = f"{ELEMENT} mov.u64 %d1, square; setp.lt.u32 %p1, %t, 5; " + CALL_POINTER.replace("call (", "@%p1 call (")
    out = np.zeros(LANES, np.uint32)
    bench.kernel(body.replace("ld.param", "mov.u32 %r1, 0; @%p1 ld.param"), 1, FUNCTIONS)(out)
    assert out.tolist() == [t * t if t < 5 else 0 for t in range(LANES)]


@pytest.mark.parametrize("pointer", [0, 8, 0x7FFF0000])
def test_a_pointer_that_holds_no_function_fails_the_launch_with_its_thread(bench, pointer):
    body = f"{ELEMENT} mov.u64 %d1, twice; setp.eq.u32 %p1, %t, 6; @%p1 mov.u64 %d1, {pointer}; {CALL_POINTER}"
    with pytest.raises(Fault) as fault:
        bench.kernel(body, 1, FUNCTIONS)(np.zeros(LANES, np.uint32))
    assert fault.value.code == INVALID_PC
    assert "thread (6, 0, 0)" in fault.value.note and "holds no device function of this signature" in fault.value.note


def test_a_result_that_the_function_does_not_have_is_ignored(bench):
    """Numba declares C functions of type void with a result."""
    body = f"""{ELEMENT} {{ .param .b64 at; .param .b32 result; st.param.b64 [at], %w1; call (result), store_seven, (at); }}"""
    out = np.zeros(LANES, np.uint32)
    bench.kernel(body, 1, FUNCTIONS)(out)
    assert out.tolist() == [7] * LANES


def allocate(size: str, to: str) -> str:
    return f"""{{ .param .b64 size; .param .b64 result; st.param.b64 [size], {size};
call (result), malloc, (size); ld.param.b64 {to}, [result]; }}"""


def release(address: str) -> str:
    return f"{{ .param .b64 address; st.param.b64 [address], {address}; call free, (address); }}"


def test_every_thread_gets_memory_of_its_own_and_the_next_launch_reads_it(bench):
    keep = bench.kernel(f"""mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a0, %w0; add.u64 %d9, %w0, 8;
{allocate("%d9", "%d1")} add.u64 %d2, %d1, %w0; st.u64 [%d1], 1; st.u64 [%d2], %w0; st.global.u64 [%w1], %d1;""", 1, FUNCTIONS)
    use = bench.kernel(f"""mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a0, %w0; ld.global.u64 %d1, [%w1];
add.u64 %d2, %d1, %w0; ld.u64 %d3, [%d2]; st.global.u64 [%w1], %d3; {release("%d1")}""", 1, FUNCTIONS)
    out = np.zeros(LANES, np.uint64)
    keep(out)
    assert len(set(out.tolist())) == LANES and not (out % 16).any()
    use(out)
    assert out.tolist() == [8 * t for t in range(LANES)]
    assert not bench.launcher.heap.used


def test_malloc_gives_null_where_its_oracle_says_so(bench):
    row, form = find("call.malloc")
    sizes = [size for size, in row.cases(form)]
    out = np.array((sizes * LANES)[:LANES], np.uint64)
    body = f"""mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a0, %w0; ld.global.u64 %d9, [%w1];
{allocate("%d9", "%d1")} st.global.u64 [%w1], %d1; {release("%d1")}"""
    bench.kernel(body, 1, FUNCTIONS)(out)
    assert [address > 0 for address in out.tolist()] == [row.oracle(form, size) for size in (sizes * LANES)[:LANES]]


def test_memory_that_is_freed_is_given_again(bench):
    half = HEAP_BYTES // 2 + 16
    body = f"""{ELEMENT} {allocate(str(half), "%d1")} {release("%d1")} {allocate(str(half), "%d2")} {release("%d2")}
setp.ne.u64 %p1, %d2, 0; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%w1], %r1;"""
    out = np.zeros(1, np.uint32)
    bench.kernel(body, 1, FUNCTIONS)(out, block=(1, 1, 1))
    assert out.tolist() == [1]


@pytest.mark.parametrize("address", ["%a0", "%d1"])
def test_freeing_what_malloc_did_not_give_or_has_back_fails_the_launch(bench, address):
    body = f"{allocate('64', '%d1')} {release('%d1')} {release(address)}"
    with pytest.raises(Fault, match="not given by malloc") as fault:
        bench.kernel(body, 1, FUNCTIONS)(np.zeros(1, np.uint32), block=(1, 1, 1))
    assert fault.value.code == FAILED


def test_freeing_null_does_nothing(bench):
    bench.kernel(release("0"), 1, FUNCTIONS)(np.zeros(1, np.uint32))


BYTES = "0x8796A5B4C3D2E1F0"        # an argument of 8 bytes; every byte has another value, and its sign bit set
WIDTHS = {8: "u8", 16: "u16", 32: "u32", 64: "u64"}


@pytest.mark.parametrize("stored", list(WIDTHS))
@pytest.mark.parametrize("loaded", list(WIDTHS))
@pytest.mark.parametrize("signed", [False, True])
def test_an_argument_may_be_read_in_other_pieces_than_it_was_stored_in(bench, stored, loaded, signed):
    """numba stores a flag as 32 bits and reads it as 8. The function returns each piece it reads, extended to 64 bits."""
    value, count = int(BYTES, 16), 64 // loaded
    kind = WIDTHS[loaded].replace("u", "s" if signed else "u")
    loads = "".join(f"ld.param.{kind} %x, [x+{k * loaded // 8}]; cvt.{kind[0]}64.{kind} %d1, %x; "
                    f"st.param.b64 [result+{8 * k}], %d1;" for k in range(count))
    register = ".reg .b64 %x;" if loaded == 64 else ".reg .b32 %x;" if loaded == 32 else ".reg .b16 %x;"
    if loaded == 64:
        loads = loads.replace(f"cvt.{kind[0]}64.{kind}", "mov.b64")
    function = f"""
.visible .func (.param .align 8 .b8 result[{8 * count}]) pieces(.param .align 8 .b8 x[8]) {{ .reg .b64 %d<2>; {register}
{loads} ret; }}"""
    stores = "".join(f"shr.u64 %d3, %d2, {k * stored}; cvt.u{max(stored, 16)}.u64 %y, %d3; "
                     f"st.param.b{stored} [x+{k * stored // 8}], %y;" for k in range(64 // stored))
    own = f".reg .b{max(stored, 16)} %y; .param .align 8 .b8 x[8]; .param .align 8 .b8 result[{8 * count}];"
    if stored == 64:
        stores = "st.param.b64 [x], %d2;"
    reads = "".join(f"ld.param.b64 %d5, [result+{8 * k}]; st.global.u64 [%a0+{8 * k}], %d5;" for k in range(count))
    body = f"mov.u64 %d2, {BYTES}; {{ {own} {stores} call (result), pieces, (x); {reads} }}"
    out = np.zeros(count, np.int64)
    bench.kernel(body, 1, function)(out, block=(1, 1, 1))
    parts = [value >> (k * loaded) & ((1 << loaded) - 1) for k in range(count)]
    expected = [part - (1 << loaded) if part >> (loaded - 1) and (signed or loaded == 64) else part for part in parts]
    assert out.tolist() == expected
