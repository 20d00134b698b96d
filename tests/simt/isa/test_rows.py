"""Every form of every row does what its plain-Python oracle says, on one lane and on sixteen."""
from __future__ import annotations

import collections
import ctypes
import dataclasses
import functools
import math
import random

import llvmlite.binding as llvm
import numpy as np
import pytest

from simt.isa import ROWS, Form, Row, Unsupported, bits_of, find, register
from simt.isa.numbers import FORMATS, decode, encode, is_float, unary_edges
from simt.jit.builder import IR_TYPE, Builder, Text, Value
from simt.observe.names import KINDS

LANES = (1, 16)
RANDOM_TUPLES = 16
BATCH = 12
SLOT = 8
MEMORY = {1: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def named_rows() -> dict[str, list[Form]]:
    """The forms of each elementwise row, under a name: its first opcode."""
    named = collections.defaultdict(list)
    first = {}
    for opcode, (row, form) in ROWS.items():
        if isinstance(row, Row):
            named[first.setdefault(id(row), opcode)].append(form)
    return dict(named)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Forms of one row with the same operand and result types: one compiled function runs all on the same tuples."""

    row: Row
    forms: tuple[Form, ...]
    tuples: tuple[tuple[int, ...], ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.row.operand_types(self.forms[0])

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.row.result_types(self.forms[0])

    @property
    def count(self) -> int:
        """Tuples, rounded up to whole vectors."""
        return -(-len(self.tuples) // 16) * 16

    def symbol(self, lanes: int) -> str:
        return f"{self.forms[0].opcode} on {lanes}"

    @functools.cached_property
    def expected(self) -> list[list[tuple[int, ...]]]:
        """For each form, the bit patterns that the oracle gives for each tuple."""
        plain = [[decode(x, kind) for x, kind in zip(case, self.inputs, strict=True)] for case in self.tuples]
        return [[self.patterns(self.row.oracle(form, *operands)) for operands in plain] for form in self.forms]

    def patterns(self, said) -> tuple[int, ...]:
        results = said if isinstance(said, tuple) else (said,)
        return tuple(encode(x, kind) for x, kind in zip(results, self.outputs, strict=True))


@functools.cache
def batches(seed: int) -> dict[str, list[Batch]]:
    """The batches of each named row, on the edges of all forms and on random tuples."""
    found = {}
    for name, forms in named_rows().items():
        row = ROWS[name][0]
        alike = collections.defaultdict(list)
        for form in forms:
            alike[row.operand_types(form), row.result_types(form)].append(form)
        groups = [group[start:start + BATCH] for group in alike.values() for start in range(0, len(group), BATCH)]
        found[name] = [Batch(row, tuple(group), tuples(row, group, seed)) for group in groups]
    return found


def tuples(row: Row, forms: list[Form], seed: int) -> tuple[tuple[int, ...], ...]:
    """Random ones are uniform patterns, which for floats reach every exponent."""
    source = random.Random(f"{seed} {forms[0].opcode}")
    kinds = row.operand_types(forms[0])
    chance = [tuple(source.getrandbits(bits_of(kind)) for kind in kinds) for _ in range(RANDOM_TUPLES)]
    return tuple(dict.fromkeys([case for form in forms for case in row.cases(form)] + chance))


def function_text(batch: Batch, lanes: int) -> tuple[str, dict[str, str]]:
    """void symbol(operands, results): every form on every tuple, ``lanes`` at a time.

    Both parameters hold one array after the other, with room for SLOT bytes a tuple."""
    text = Text()
    b = Builder(text, lanes)
    operands = [loaded(b, batch, number) for number in range(len(batch.inputs))]
    number = 0
    for form in batch.forms:
        results = batch.row.lower(b, form, *operands)
        for kind, result in zip(batch.outputs, results if isinstance(results, tuple) else (results,), strict=True):
            assert result.type == IR_TYPE[kind], f"{form.opcode} gives {result.type}, not {IR_TYPE[kind]}"
            stored = b.cast("zext", result, "i8") if kind == "pred" else result
            text.emit(f"store {b.typed(stored)}, ptr {element(b, batch, 'out', kind, number)}, align 1")
            number += 1
    body = "\n".join(text.lines)
    return f"""define void @"{batch.symbol(lanes)}"(ptr %in, ptr %out) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{body}
  %next = add i64 %i, {lanes}
  %more = icmp ult i64 %next, {batch.count}
  br i1 %more, label %loop, label %done
done:
  ret void
}}
""", text.declarations


def element(b: Builder, batch: Batch, array: str, kind: str, number: int) -> str:
    """The address of element %i of operand or result ``number``."""
    start = b.text.define(f"getelementptr i8, ptr %{array}, i64 {number * batch.count * SLOT}")
    return b.text.define(f"getelementptr {memory_type(kind)}, ptr {start}, i64 %i")


def memory_type(kind: str) -> str:
    return "i8" if kind == "pred" else IR_TYPE[kind]


def loaded(b: Builder, batch: Batch, number: int) -> Value:
    kind = batch.inputs[number]
    lane_type = memory_type(kind)
    address = element(b, batch, "in", kind, number)
    value = Value(lane_type, b.text.define(f"load {b.full(lane_type)}, ptr {address}, align 1"))
    return b.cast("trunc", value, "i1") if kind == "pred" else value


def compiled(chosen: list[Batch], lanes: int):
    """Machine code of batches, through the passes that a kernel gets (scalars through the quicker code generator)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0 if lanes == 1 else 2)
    texts = [function_text(batch, lanes) for batch in chosen]
    declarations = {line for _, needs in texts for line in needs.values()}
    module = llvm.parse_assembly("\n".join([*declarations, *(text for text, _ in texts)]))
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2)))
    compiler = llvm.create_mcjit_compiler(module, machine)
    compiler.finalize_object()
    return compiler


@functools.cache
def all_compiled(seed: int, lanes: int):
    return compiled([batch for group in batches(seed).values() for batch in group], lanes)


def run(engine, batch: Batch, lanes: int) -> list[list[tuple[int, ...]]]:
    """For each form, the results of each tuple as bit patterns."""
    count = batch.count
    padded = batch.tuples + batch.tuples[:1] * (count - len(batch.tuples))
    inputs = np.zeros((len(batch.inputs), count * SLOT), np.uint8)
    for slots, kind, column in zip(inputs, batch.inputs, zip(*padded, strict=True), strict=True):
        view(slots, kind, count)[:] = column
    outputs = np.zeros((len(batch.forms), len(batch.outputs), count * SLOT), np.uint8)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    function(engine.get_function_address(batch.symbol(lanes)))(inputs.ctypes.data, outputs.ctypes.data)
    columns = [[view(slots, kind, count).tolist() for slots, kind in zip(of_form, batch.outputs, strict=True)]
               for of_form in outputs]
    return [list(zip(*of_form, strict=True))[:len(batch.tuples)] for of_form in columns]


def view(slots: np.ndarray, kind: str, count: int) -> np.ndarray:
    """The elements at the start of an array's bytes."""
    return slots.view(MEMORY[bits_of(kind)])[:count]


def agree(kind: str, tolerance: float, result: int, expected: int) -> bool:
    """Equal patterns; any NaN for a NaN; within the tolerance where the row has one."""
    if kind.endswith("x2"):
        half = kind.removesuffix("x2")
        return all(agree(half, tolerance, result >> shift & 0xFFFF, expected >> shift & 0xFFFF) for shift in (0, 16))
    if result == expected or not is_float(kind):
        return result == expected
    found, exact = decode(result, kind), decode(expected, kind)
    if math.isfinite(exact) and exact:
        return abs(found - exact) <= tolerance * max(abs(exact), FORMATS[kind].least_normal)
    return found != found and exact != exact


@pytest.mark.parametrize("name", named_rows())
@pytest.mark.parametrize("lanes", LANES)
def test_every_form_agrees_with_its_oracle(name, lanes, seed):
    for batch in batches(seed)[name]:
        results = run(all_compiled(seed, lanes), batch, lanes)
        for form, of_form, expected in zip(batch.forms, results, batch.expected, strict=True):
            for case, found, said in zip(batch.tuples, of_form, expected, strict=True):
                same = found == said or all(agree(kind, batch.row.tolerance, *each)
                                            for kind, *each in zip(batch.outputs, found, said, strict=True))
                assert same, (f"{form.opcode}: {described(batch.inputs, case)} -> {described(batch.outputs, found)}, "
                              f"not {described(batch.outputs, said)}")


def described(kinds: tuple[str, ...], patterns: tuple[int, ...]) -> str:
    return ", ".join(f"{pattern:#x}" + (f" = {decode(pattern, kind)!r}" if is_float(kind) else "")
                     for kind, pattern in zip(kinds, patterns, strict=True))


def test_every_row_counts_in_a_known_class_and_names_its_section():
    for name in named_rows():
        row, _ = ROWS[name]
        assert row.kind in KINDS, name
        assert " Instructions: " in row.section, name


CONSTANTS = ("shl.b32", "shl.b64", "shr.u16", "shr.s32", "shr.s64",
             "div.s32", "div.u32", "div.s64", "rem.s16", "rem.u64")


@pytest.mark.parametrize("opcode", CONSTANTS)
def test_a_constant_last_operand_changes_nothing(opcode, seed):
    row, form = find(opcode)
    kind = row.operand_types(form)[-1]
    chosen = [with_constant(row, form, number, seed) for number in (0, 1, 7, form.bits - 1, form.bits, -1)]
    for lanes in LANES:
        engine = compiled(chosen, lanes)
        for batch in chosen:
            assert run(engine, batch, lanes) == batch.expected, f"{batch.forms[0].opcode} with {kind} on {lanes}"


def with_constant(row: Row, form: Form, number: int, seed: int) -> Batch:
    """A batch of a row whose last operand is fixed."""
    first, last = row.operand_types(form)
    fixed = dataclasses.replace(
        row, operands=lambda form: (first,), edges=unary_edges,
        lower=lambda b, form, x: row.lower(b, form, x, b.const(IR_TYPE[last], number)),
        oracle=lambda form, x: row.oracle(form, x, number & (1 << bits_of(last)) - 1))
    named = Form(f"{number}.{form.opcode}")
    return Batch(fixed, (named,), tuples(fixed, [named], seed))


# Facts, without the oracles: what a form gives for operands written as numbers

def value_of(opcode: str, *operands: int | float) -> int | float:
    """The only result, or the first, of a form on one lane; the same on sixteen."""
    return values_of(opcode, *operands)[0]


def values_of(opcode: str, *operands: int | float) -> tuple[int | float, ...]:
    row, form = find(opcode)
    case = tuple(encode(x, kind) for x, kind in zip(operands, row.operand_types(form), strict=True))
    batch = Batch(row, (form,), (case,))
    results = {run(compiled([batch], lanes), batch, lanes)[0][0] for lanes in LANES}
    assert len(results) == 1, f"{opcode} differs between one lane and sixteen: {results}"
    return tuple(decode(pattern, kind) for pattern, kind in zip(results.pop(), batch.outputs, strict=True))


def test_shl_by_the_full_width_gives_zero():
    assert value_of("shl.b32", 0xFFFFFFFF, 32) == 0
    assert value_of("shl.b64", 1, 0xFFFFFFFF) == 0
    assert value_of("shl.b16", 1, 15) == 0x8000


def test_shr_of_a_negative_number_by_more_than_the_width_gives_minus_one():
    assert value_of("shr.s32", 0x80000000, 200) == 0xFFFFFFFF
    assert value_of("shr.u32", 0x80000000, 200) == 0


def test_a_funnel_shift_clamps_or_wraps_its_amount():
    assert value_of("shf.l.clamp.b32", 0x12345678, 0x9ABCDEF0, 33) == 0x12345678
    assert value_of("shf.l.wrap.b32", 0x12345678, 0x9ABCDEF0, 36) == 0xABCDEF01
    assert value_of("shf.r.wrap.b32", 0x12345678, 0x9ABCDEF0, 4) == 0x01234567


@pytest.mark.parametrize("bits", (16, 32, 64))
def test_int_min_divided_by_minus_one_does_not_trap(bits):
    least = 1 << (bits - 1)
    assert value_of(f"div.s{bits}", least, -1) == least
    assert value_of(f"rem.s{bits}", least, -1) == 0


@pytest.mark.parametrize("kind", ("s16", "u16", "s32", "u32", "s64", "u64"))
def test_division_by_zero_does_not_trap(kind):
    assert value_of(f"div.{kind}", 7, 0) == (1 << bits_of(kind)) - 1
    assert value_of(f"rem.{kind}", 7, 0) == 7


def test_a_remainder_has_the_sign_of_its_dividend():
    assert value_of("rem.s32", -7, 3) == 0xFFFFFFFF
    assert value_of("rem.s64", 7, -3) == 1


def test_the_high_product_of_64_bits_is_exact():
    assert value_of("mul.hi.u64", 2**64 - 1, 2**64 - 1) == 2**64 - 2
    assert value_of("mul.hi.s64", 2**64 - 1, 2**64 - 1) == 0


def test_a_carry_chain_adds_128_bits():
    low, carry = values_of("add.cc.u64", 2**64 - 1, 1)
    assert (low, carry, value_of("addc.u64", 5, 6, carry)) == (0, 1, 12)


def test_a_borrow_passes_through_equal_words():
    _, borrow = values_of("sub.cc.u32", 0, 1)
    assert values_of("subc.cc.u32", 9, 9, borrow) == (0xFFFFFFFF, 1)


def test_dp4a_multiplies_bytes_with_their_own_signs():
    assert value_of("dp4a.s32.s32", 0xFF02FF02, 0x01010101, 0) == 2
    assert value_of("dp4a.u32.u32", 0xFF02FF02, 0x01010101, 0) == 2 * (255 + 2)
    assert value_of("dp4a.u32.s32", 0x000000FF, 0x000000FF, 1) == (-255 + 1) & 0xFFFFFFFF


def test_lop3_reads_its_table_as_a_b_c():
    assert value_of("lop3.b32", 0b1100, 0b1010, 0b0110, 0xE8) == 0b1110  # majority
    assert value_of("lop3.b32", 0b1100, 0b1010, 0b0110, 0x96) == 0b0000  # parity


def test_prmt_replicates_the_sign_of_a_byte():
    assert value_of("prmt.b32", 0x00008000, 0, 0x9991) == 0xFFFFFF80


def test_an_empty_bit_field_is_zero_and_one_beyond_the_top_is_its_sign():
    assert value_of("bfe.s32", 0xFFFFFFFF, 4, 0) == 0
    assert value_of("bfe.s32", 0x80000000, 40, 8) == 0xFFFFFFFF
    assert value_of("bfe.u32", 0x80000000, 40, 8) == 0


def test_bfind_of_a_negative_number_finds_a_zero():
    assert value_of("bfind.s32", -9) == 3
    assert value_of("bfind.u32", 0) == 0xFFFFFFFF


def test_fma_rounds_once():
    x = 1 + 2.0**-23
    assert value_of("fma.rn.f32", x, x, -(1 + 2.0**-22)) == 2.0**-46
    # Below a tie of f16 by 2^-25, which a float would drop
    assert value_of("fma.rn.f16", 2.0**-5 * (1 + 2.0**-7), 2.0**-6 * (1 - 2.0**-7), 1 + 2.0**-10) == 1 + 2.0**-10


def test_a_directed_sum_keeps_the_exact_side():
    assert value_of("add.rz.f32", 1.0, -(2.0**-149)) == 1 - 2.0**-24
    assert value_of("add.rp.f32", 1.0, 2.0**-149) == 1 + 2.0**-23
    assert value_of("mul.rp.f64", 5e-324, 5e-324) == 5e-324
    assert value_of("mul.rz.f64", 1e300, 1e300) == 1.7976931348623157e308


def test_rounding_down_makes_a_zero_sum_negative():
    assert math.copysign(1, value_of("add.rm.f32", 1.0, -1.0)) == -1
    assert math.copysign(1, value_of("add.rn.f32", 1.0, -1.0)) == 1


def test_flushing_keeps_the_sign():
    tiny = -(2.0**-149)
    flushed = value_of("add.ftz.f32", tiny, tiny)
    assert flushed == 0 and math.copysign(1, flushed) == -1
    assert value_of("add.f32", tiny, tiny) == 2 * tiny


def test_saturation_turns_nan_into_zero():
    assert value_of("add.sat.f32", math.nan, 1.0) == 0
    assert value_of("cvt.sat.f32.f32", 1.5) == 1


def test_min_drops_a_nan_unless_told_to_keep_it():
    assert value_of("min.f32", math.nan, 3.0) == 3
    assert math.isnan(value_of("min.NaN.f32", math.nan, 3.0))


def test_minus_zero_is_less_than_zero_for_min_and_max():
    assert math.copysign(1, value_of("min.f64", 0.0, -0.0)) == -1
    assert math.copysign(1, value_of("max.f64", -0.0, 0.0)) == 1


def test_a_nan_makes_only_unordered_comparisons_true():
    assert values_of("setp.lt.f32", math.nan, 1.0) == (0, 1)
    assert values_of("setp.ltu.f32", math.nan, 1.0) == (1, 0)
    assert value_of("setp.ne.f32", math.nan, math.nan) == 0
    assert value_of("setp.neu.f32", math.nan, math.nan) == 1


def test_setp_combines_the_comparison_and_its_complement_with_the_predicate():
    assert values_of("setp.lt.and.s32", -1, 1, 1) == (1, 0)
    assert values_of("setp.lt.and.u32", -1, 1, 1) == (0, 1)
    assert values_of("setp.lt.or.s32", -1, 1, 1) == (1, 1)


def test_conversion_to_an_integer_clamps():
    assert value_of("cvt.rzi.s32.f32", 3e9) == 0x7FFFFFFF
    assert value_of("cvt.rzi.u32.f32", -1.0) == 0
    assert value_of("cvt.rni.s8.f64", -1000.0) == 0x80


def test_nan_becomes_zero_except_from_or_to_64_bits():
    assert value_of("cvt.rzi.s32.f32", math.nan) == 0
    assert value_of("cvt.rzi.s32.f64", math.nan) == 0x80000000
    assert value_of("cvt.rzi.u64.f32", math.nan) == 1 << 63


def test_rounding_to_an_integer_takes_ties_to_even():
    assert [value_of("cvt.rni.s32.f32", x) for x in (0.5, 1.5, 2.5)] == [0, 2, 2]


def test_a_conversion_to_half_through_double_rounds_once():
    assert value_of("cvt.rn.f16.f64", 1 + 2.0**-11 + 2.0**-40) == 1 + 2.0**-10
    assert value_of("cvt.rn.f16.s32", 0x801) == 0x800


def test_sign_extension_follows_the_source():
    assert value_of("cvt.u64.s32", -1) == 2**64 - 1
    assert value_of("cvt.s64.u32", 0xFFFFFFFF) == 0xFFFFFFFF


def test_dividing_approximately_by_a_huge_number_gives_zero():
    assert value_of("div.approx.f32", 2.0**127, 2.0**127) == 0
    assert value_of("div.full.f32", 2.0**127, 2.0**127) == 1


def test_the_double_approximations_work_on_high_words_only():
    assert encode(value_of("rcp.approx.ftz.f64", 3.0), "f64") == 0x3FD5555500000000
    assert encode(value_of("rsqrt.approx.ftz.f64", 2.0), "f64") == 0x3FE6A09E00000000
    assert value_of("rcp.approx.ftz.f64", decode(0x7FEFFFFF00000001, "f64")) == 0  # 1 / it is subnormal


# What does not load

def test_a_form_spelled_twice_does_not_load():
    row, _ = find("add.s32")
    with pytest.raises(ValueError, match=r"add\.s\d+ is defined twice"):
        register([row])


def test_a_row_without_edges_does_not_load():
    row = dataclasses.replace(find("add.s32")[0], forms="add.s31", edges=())
    with pytest.raises(ValueError, match=r"add\.s31 has no edge cases"):
        register([row])
    assert "add.s31" not in ROWS


def test_an_unknown_opcode_is_unsupported_and_named_with_its_line():
    with pytest.raises(Unsupported, match=r"wmma\.mma\.sync.*PTX line 17, from step\.py:4.*simt/isa"):
        find("wmma.mma.sync", 17, "step.py:4")


def test_what_is_no_opcode_is_unsupported_without_advice_to_add_a_row():
    said = str(Unsupported("the special register %pm0", 17, "step.py:4"))
    assert said == "the emulated device does not support the special register %pm0 (PTX line 17, from step.py:4)"
