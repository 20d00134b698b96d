"""The parser: every construct that NVVM, NVRTC and inline PTX bring, and errors that name the line."""
from __future__ import annotations

import warnings

import hypothesis
import hypothesis.strategies as st
import pytest
from numba import cuda, float32, int32

from simt.ptx import PtxError, parse
from simt.ptx.statements import (
    Address,
    Function,
    Imm,
    Instruction,
    Label,
    Negated,
    Pair,
    Reg,
    SourceLine,
    Symbol,
    Vector,
)

HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"


def function(body: str, declarations: str = "") -> Function:
    """A kernel ``k`` with the given body, and module declarations before it."""
    text = f'{HEADER}.file 1 "a.py"\n.file 2 "b.cu"\n{declarations}\n.visible .entry k()\n{{\n{body}\nret;\n}}\n'
    return parse(text).functions["k"]


def instructions(body: str, declarations: str = "") -> list[Instruction]:
    statements = function(body, declarations).body
    return [statement for statement in statements if isinstance(statement, Instruction)][:-1]


def operands(text: str, registers: str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .f32 %f<9>;"):
    return instructions(f"{registers}\nany.op {text};")[0].operands


@pytest.fixture(scope="module")
def numba_ptx() -> str:
    def kernel(x, y, count):
        tile = cuda.shared.array(32, float32)
        index = cuda.grid(1)
        if index < count:
            tile[cuda.threadIdx.x] = x[index]
            cuda.syncthreads()
            y[index] = tile[31 - cuda.threadIdx.x] * float32(1.5)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ptx, _ = cuda.compile_ptx(kernel, (float32[::1], float32[::1], int32), cc=(8, 0), lineinfo=True)
    return ptx


def test_numba_ptx_gives_a_kernel_with_its_parameters_and_shared_tile(numba_ptx):
    module = parse(numba_ptx)
    [kernel] = [found for found in module.functions.values() if found.is_entry]
    assert module.target == "sm_80"
    # Two arrays of 7 words each (meminfo, parent, nitems, itemsize, data, shape, stride) and the count.
    assert [param.type for param in kernel.params] == ["u64"] * 14 + ["u32"]
    shared = [variable for variable in module.variables.values() if variable.space == "shared"]
    assert [(variable.count, variable.type, variable.align) for variable in shared] == [(128, "b8", 4)]


def test_every_register_of_numba_ptx_has_a_declared_type(numba_ptx):
    for found in parse(numba_ptx).functions.values():
        used = {operand.name for statement in found.body or () if isinstance(statement, Instruction)
                for operand in statement.operands if isinstance(operand, Reg)}
        plain = {name for name in used if not name.startswith(("%tid", "%ntid", "%ctaid"))}
        assert plain and all(found.register_type(name) for name in plain)


def test_numba_lines_point_into_this_file(numba_ptx):
    [kernel] = [found for found in parse(numba_ptx).functions.values() if found.is_entry]
    sources = {statement.source for statement in kernel.body if isinstance(statement, Instruction)} - {None}
    lines = open(__file__, encoding="utf-8").read().splitlines()
    assert {source.file for source in sources} == {__file__}
    [barrier] = [statement for statement in kernel.body if getattr(statement, "opcode", "").startswith("bar")]
    assert lines[barrier.source.line - 1].strip() == "cuda.syncthreads()"


@pytest.mark.parametrize(("text", "expected"), [
    ("5", Imm(5)), ("-5", Imm(-5)), ("017", Imm(15)), ("0x1F", Imm(31)), ("0b101", Imm(5)), ("123U", Imm(123)),
    ("0xFFFFFFFFFFFFFFFF", Imm(2**64 - 1)), ("-9223372036854775808", Imm(-2**63)),
    ("0f3F800000", Imm(0x3F800000, 32)), ("0d3FF0000000000000", Imm(0x3FF0000000000000, 64)),
    ("1.5", Imm(0x3FF8000000000000, 64)), ("WARP_SZ", Imm(32)),
    ("%r8", Reg("%r8")), ("%tid.x", Reg("%tid.x")), ("%laneid", Reg("%laneid")), ("_", Reg("_")),
    ("!%p1", Negated(Reg("%p1"))), ("%p1|%p2", Pair(Reg("%p1"), Reg("%p2"))), ("%p1|_", Pair(Reg("%p1"), Reg("_"))),
    ("sym", Symbol("sym")), ("sym+16", Symbol("sym", 16)), ("sym - 4", Symbol("sym", -4)), ("$L__1", Symbol("$L__1")),
    ("[%rd4]", Address(Reg("%rd4"))), ("[%rd4+8]", Address(Reg("%rd4"), 8)), ("[%rd4+-8]", Address(Reg("%rd4"), -8)),
    ("[ %rd4 - 8 ]", Address(Reg("%rd4"), -8)), ("[sym+4]", Address(Symbol("sym"), 4)), ("[128]", Address(Imm(128))),
    ("{%f1, %f2}", Vector((Reg("%f1"), Reg("%f2")))), ("{%r1,_}", Vector((Reg("%r1"), Reg("_")))),
])
def test_an_operand_becomes_its_record(text, expected):
    assert operands(text) == (expected,)
    assert operands(f"%r0, {text}, {{%f1,%f2,%f3,%f4}}, 7")[1] == expected


@pytest.mark.parametrize("text", [
    "%r9", "%nothing", "[%r1", "%r1]", "{%r1", "{%r1,}", "{}}", "%r1,,%r2", "%r1,", "0f3F80", "1x", "[%rd1, {%r1}]",
    "0x1FFFFFFFFFFFFFFFF", "!sym", "sym|%p1", "%tid", "%tid.q", "[_]", "[{%r1}]", "%r1 %r2", "(1+2)", "[%rd1+sym]",
])
def test_a_malformed_operand_is_an_error_with_its_line(text):
    with pytest.raises(PtxError, match="PTX line 10: ") as caught:
        operands(text)
    assert caught.value.line == 10


def test_guards_keep_their_register_and_sense():
    first, second, third = instructions(
        ".reg .pred %p<3>, q;\n@%p1 bra $L;\n@!%p2 bra.uni $L;\n@q bra $L;\n$L:")
    assert (first.guard, first.negated, first.operands) == ("%p1", False, (Symbol("$L"),))
    assert (second.guard, second.negated, second.opcode) == ("%p2", True, "bra.uni")
    assert (third.guard, third.negated) == ("%_q", False)


def test_opcodes_keep_their_dots_and_colons():
    [copy] = instructions("cp.async.cg.shared::cta.global.L2::128B [sym], [sym+16], 16;")
    assert copy.opcode == "cp.async.cg.shared::cta.global.L2::128B"


def test_an_instruction_may_span_lines_and_hold_comments():
    [add] = instructions(".reg .b32 %r<4>;\nadd.s32 // one; two\n %r1, /* ; */ %r2,\n 3;")
    assert add.operands == (Reg("%r1"), Reg("%r2"), Imm(3))
    assert add.line == 10


def test_several_statements_may_share_a_line():
    first, second = instructions("{ .reg .b32 t; mov.u32 t, 1; mov.u32 t, 2; }")
    assert (first.operands[1], second.operands[1], first.line) == (Imm(1), Imm(2), second.line)


def test_direct_calls_list_returns_callee_and_arguments():
    declared = ".extern .func (.param .b32 r) f(.param .b64 a);"
    with_both, bare, arguments = instructions(
        "{ .param .b64 p0; .param .b32 r0; call.uni (r0),\nf,\n(\np0\n); call f; call f, (p0); }", declared)
    assert with_both.operands == (Vector((Symbol("r0"),)), Symbol("f"), Vector((Symbol("p0"),)))
    assert bare.operands == (Vector(()), Symbol("f"), Vector(()))
    assert arguments.operands == (Vector(()), Symbol("f"), Vector((Symbol("p0"),)))


def test_indirect_calls_name_their_prototype():
    found = function(
        ".reg .b64 %rd<3>;\n{ .param .b32 p0; .param .align 8 .b8 r0[16];\n"
        "proto : .callprototype (.param .align 8 .b8 _[16]) _ (.param .b32 _) ;\ncall (r0), %rd1, (p0), proto; }")
    [call] = [statement for statement in found.body if getattr(statement, "opcode", "") == "call"]
    assert call.operands[1:3] == (Reg("%rd1"), Vector((Symbol("p0"),)))
    prototype = found.prototypes[call.operands[3].name]
    assert [item.size_bytes for item in prototype.returns + prototype.params] == [16, 4]
    assert not any(isinstance(statement, Label) for statement in found.body)


def test_branch_target_lists_are_kept_by_label():
    found = function(".reg .b32 %r<2>;\ntable: .branchtargets\n$A, $B,$A;\nbrx.idx %r1, table;\n$A:\n$B:")
    assert found.branch_targets == {"table": ("$A", "$B", "$A")}
    assert found.body[0].operands == (Reg("%r1"), Symbol("table"))


def test_nested_scopes_get_unique_names():
    found = function(
        ".reg .b32 %r<3>, t;\n"
        "{ .reg .f32 t; .reg .b64 %r<2>; .param .b32 p0; mov.f32 t, 0f00000000; st.param.b32 [p0], %r1; }\n"
        "{ .reg .pred t; .param .b64 p0; st.param.b64 [p0+0], %r2; mov.pred t, t; }\nmov.b32 t, %r1;")
    move, store, store_again, predicate, last = [s for s in found.body if s.opcode != "ret"]
    types = [found.register_type(move.operands[0].name), found.register_type(store.operands[1].name),
             found.register_type(store_again.operands[1].name), found.register_type(predicate.operands[0].name),
             found.register_type(last.operands[0].name), found.register_type(last.operands[1].name)]
    assert types == ["f32", "b64", "b32", "pred", "b32", "b32"]
    assert last.operands == (Reg("%_t"), Reg("%r1"))
    variables = {variable.name: variable.type for variable in found.variables}
    assert variables[store.operands[0].base.name] == "b32"
    assert variables[store_again.operands[0].base.name] == "b64"


def test_a_label_pasted_twice_by_inline_ptx_stays_two_labels():
    loop = "{ .reg .pred p; again: setp.eq.u32 p, 1, 2; @p bra again; }\n"
    found = function(loop + loop)
    labels = [statement.name for statement in found.body if isinstance(statement, Label)]
    targets = [statement.operands[0].name for statement in found.body if getattr(statement, "opcode", "") == "bra"]
    assert len(set(labels)) == 2 and labels == targets


def test_a_label_defined_twice_in_one_scope_is_an_error():
    with pytest.raises(PtxError, match="label defined twice"):
        function("$L:\n$L:")


def test_source_lines_hold_until_the_next_and_zero_changes_nothing():
    found = instructions(
        "nop;\n.loc 1 0 0\nnop;\n.loc 1 13 4\nnop;\n.loc 1 0 0\nnop;\n.loc 2 7 0\nnop;")
    assert [item.source for item in found] == [
        None, None, SourceLine("a.py", 13), SourceLine("a.py", 13), SourceLine("b.cu", 7)]


def test_inlined_lines_carry_their_call_chain():
    outer, inner, after = instructions(
        ".loc 1 25 3\n.loc 1 7 4, function_name $L__info_string0, inlined_at 1 25 3\nnop;\n"
        ".loc 2 5 4, function_name $L__info_string1, inlined_at 1 7 4\nnop;\n.loc 1 26 1\nnop;")
    assert (outer.source, outer.inlined) == (SourceLine("a.py", 7), (SourceLine("a.py", 25),))
    assert (inner.source, inner.inlined) == (SourceLine("b.cu", 5), (SourceLine("a.py", 7), SourceLine("a.py", 25)))
    assert after.inlined == ()


def test_a_file_may_be_named_after_its_use():
    text = HEADER + '.entry k()\n{\n.loc 3 9 1\nret;\n}\n.file 3 "late // name.py", 12, 34'
    assert parse(text).functions["k"].body[0].source == SourceLine("late // name.py", 9)


def test_a_line_of_a_file_without_name_is_an_error():
    with pytest.raises(PtxError, match=r"no \.file 9"):
        function(".loc 9 1 1")


def test_variables_of_every_space_with_initial_values():
    variables = parse(HEADER + """
.extern .shared .align 16 .b8 dynamic[];
.visible .const .align 1 .b8 text[6] = {37, 0x6C, 10};
.common .global .align 8 .u64 environment;
.visible .global .align 8 .u64 pointers[3] = {generic(text), pointers+8, generic(text)+4};
.global .attribute(.managed) .f32 one = 0f3F800000;
.shared .align 4 .b8 tile[2][64];
.weak .global .v4 .f32 quad;
.const .f32 unsized[] = {1.0, -2.0};
""").variables
    dynamic = variables["dynamic"]
    assert (dynamic.count, dynamic.extern, dynamic.is_array, dynamic.align) == (0, True, True, 16)
    assert variables["text"].initial == (Imm(37), Imm(108), Imm(10))
    assert variables["pointers"].initial == (Symbol("text"), Symbol("pointers", 8), Symbol("text", 4))
    assert (variables["environment"].size_bytes, variables["environment"].initial) == (8, None)
    assert variables["one"].initial == (Imm(0x3F800000, 32),)
    assert (variables["tile"].size_bytes, variables["tile"].space) == (128, "shared")
    assert (variables["quad"].size_bytes, variables["quad"].align) == (16, 16)
    assert variables["unsized"].count == 2


@pytest.mark.parametrize("declaration", [
    ".global .texref t;", ".global .u32 a, b;", ".global .align 3 .u32 a;", ".global .u32 a[x];",
    ".global .u32 a[2] = {1, 2, 3};", ".global .u32 a[2][2] = {{1, 2}, {3, 4}};", ".global .u32 a = {};",
    ".global .b8 a[4] = {0xFF(a)};", ".unknown thing;",
    "nonsense", ".entry k() { .reg .f32 %r1<3>; ret; }", ".global .u32 a;.global .u32 a;",
    ".func f();.global .u32 f;", ".alias a, b;", ".entry f(.reg .b32 a) { ret; }", ".entry (.param .b32 r) f() { }",
    ".entry f() .maxntid x { ret; }", ".entry f() .odd 4 { ret; }", ".entry f() {", "}", ".pragma nounroll;",
])
def test_a_declaration_that_is_not_understood_is_an_error(declaration):
    with pytest.raises(PtxError, match="PTX line 4: |PTX line 5: "):
        parse(HEADER + declaration + "\n")


def test_parameters_carry_type_array_and_alignment():
    found = parse(HEADER + """
.visible .entry k(
    .param .u64 .ptr .align 1 k_param_0, .param .u64 .ptr .global .align 4 k_param_1,
    .param .align 8 .b8 k_param_2[24], .param .f32 k_param_3
) { ret; }""").functions["k"].params
    assert [(param.size_bytes, param.align) for param in found] == [(8, 8), (8, 8), (24, 8), (4, 4)]


def test_performance_directives_are_kept():
    kernel = parse(HEADER + """
.entry k() .maxntid 256, 1, 1
.minnctapersm 2 .pragma "first; second"; .noreturn
{ .pragma "nounroll"; ret; }""").functions["k"]
    assert kernel.directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,), "noreturn": ()}
    assert len(kernel.body) == 1


def test_a_declared_function_has_no_body_until_it_is_defined():
    text = HEADER + ".extern .func (.param .b32 r) f\n(\n.param .b64 a\n)\n;\n"
    declared = parse(text).functions["f"]
    assert declared.body is None and declared.returns[0].name == "r"
    assert parse(text + ".visible .func (.param .b32 r) f(.param .b64 a) { ret; }").functions["f"].body is not None


def test_an_alias_is_the_same_body_under_another_name():
    functions = parse(HEADER + ".func a();\n.func b() { ret; }\n.alias a, b;").functions
    assert functions["a"].body == functions["b"].body and functions["a"].name == "a"


def test_debug_sections_are_no_code():
    module = parse(HEADER + ".entry k() { ret; }\n.section .debug_str\n{\n$L__info:\n.b8 109,0\n.b32 .debug_str+4\n}\n")
    assert list(module.functions) == ["k"]


def test_two_modules_in_one_text_are_linked():
    first = HEADER + """.extern .func f();
.extern .global .u32 shared_counter;
.common .global .u64 environment;
.const .b8 private[2] = {1, 2};
.visible .entry k() { .reg .b64 %rd<2>; .loc 1 3 0
call f; mov.u64 %rd1, private; ret; }
.file 1 "a.py"
"""
    second = """.version 9.5
.target sm_80
.address_size 64
.file 1 "b.cu"
.visible .global .u32 shared_counter = 4;
.common .global .u64 environment;
.const .b8 private[3] = {3, 4, 5};
.visible .global .u64 table[1] = {private};
.visible .func f() { .reg .b64 %rd<2>; .loc 1 3 0
ld.const.u8 %rd1, [private+1]; ret; }
"""
    module = parse(first + second + "\0")
    assert module.version == (9, 5)
    assert module.variables["shared_counter"].initial == (Imm(4),)
    assert module.variables["private"].count == 2 and module.variables["private@2"].count == 3
    assert module.variables["table"].initial == (Symbol("private@2"),)
    load, _ = module.functions["f"].body
    assert load.operands[1] == Address(Symbol("private@2"), 1)
    assert load.source == SourceLine("b.cu", 3)
    assert module.functions["k"].body[1].operands[1] == Symbol("private")
    assert set(module.files.values()) == {"a.py", "b.cu"}


def test_a_public_definition_leaves_an_earlier_private_one_its_own():
    private = HEADER + ".func f() { ret; }\n.visible .entry k() { call f; ret; }\n"
    module = parse(private + HEADER + ".visible .func f() { nop; ret; }\n")
    assert len(module.functions["f"].body) == 2
    assert module.functions["k"].body[0].operands[1] == Symbol("f@1")


def test_a_strong_definition_beats_a_weak_one_in_either_order():
    weak, strong = ".weak .global .u32 x = 1;\n", ".visible .global .u32 x = 2;\n"
    for text in (weak + strong, strong + weak):
        assert parse(HEADER + text).variables["x"].initial == (Imm(2),)


@pytest.mark.parametrize("text", ["", "// only a comment", "mov.u32 %r1, 1;", ".target sm_80\n.version 9.0\n",
                                  ".version 9.0\n", ".version nine\n.target sm_80\n", HEADER.replace("64", "32")])
def test_a_text_without_a_proper_header_is_an_error(text):
    with pytest.raises(PtxError):
        parse(text)


SAMPLE = HEADER + """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.const .align 1 .b8 text[6] = {37, 108, 10};
.visible .entry k(.param .u64 .ptr .align 1 k_param_0) .maxntid 256, 1, 1
{
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<5>;
    .loc 1 3 1
    ld.param.u64 %rd1, [k_param_0];
    mov.u32 %r1, %tid.x;
    @!%p1 bra $L__BB0_2;
    { // callseq 0
    .param .b64 param0; st.param.b64 [param0+0], %rd1; .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param0);
    ld.param.b32 %r2, [retval0+0];
    }
    shfl.sync.bfly.b32 %r3|%p2, %r2, 16, 31, -1;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+-16];
$L__BB0_2:
    ret;
}
    .file 1 "a.py"
"""


@hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
@hypothesis.given(
    position=st.integers(0, len(SAMPLE)), length=st.integers(0, 12),
    inserted=st.text(alphabet="abfr%$_0123456789xXU.,;:@!|+-[]{}()<>=/*\"\\ \n\0é", max_size=6))
def test_mutated_ptx_raises_nothing_but_ptx_errors(position, length, inserted):
    mutated = SAMPLE[:position] + inserted + SAMPLE[position + length:]
    for text in (mutated, mutated[:position + len(inserted)]):
        try:
            parse(text)
        except PtxError as error:
            assert 1 <= error.line <= text.count("\n") + 1
