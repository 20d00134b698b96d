"""Lane rows from PTX text to results in memory: parser, analysis and code around each instruction, on vectors and scalars.

tests/simt/isa/test_rows.py compares every lowering with its oracle; here one form of every instruction and every choice of
widths sits in a kernel, so that registers of other widths, sign extension, predicates and guards take part. Which form it
is depends on the seed of the run.
"""
from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest

from simt.isa import ROWS, Form, Row, bits_of
from simt.isa.numbers import FORMATS, decode, encode, is_float
from simt.jit.builder import IR_TYPE

TUPLES = 90                 # operand tuples: three warps, the last one partial
FORMS_PER_KERNEL = 20
MARK = 0x1234               # what a guarded result register holds before
PREFIX_BITS = {"%p": 1, "%b": 8, "%h": 16, "%r": 32, "%f": 32, "%d": 64, "%g": 64}


def groups(seed: int) -> dict[tuple, list[Form]]:
    """Forms by their operand types: of each mnemonic one for every choice of widths; of conversions between integers, which
    extend by sign, one for every choice of types. Carry chains have a test of their own."""
    alike = defaultdict(list)
    for row, form in ROWS.values():
        if isinstance(row, Row) and not row.carry:
            types = (*row.operand_types(form), *row.result_types(form))
            extends = row.kind == "convert" and all(kind[0] in "su" for kind in types)
            widths = types if extends else tuple(IR_TYPE[kind] for kind in types)
            alike[row.kind == "convert", form.parts[0], widths].append(form)
    found = defaultdict(list)
    for (convert, *_), forms in alike.items():
        form = random.Random(f"{seed} {forms[0]}").choice(forms)
        found[convert, row_of(form).operand_types(form)].append(form)
    return found


def row_of(form: Form) -> Row:
    return ROWS[form.opcode][0]


def tuples_for(forms: list[Form], source: random.Random) -> list[tuple[int, ...]]:
    """Edges of the forms, and random patterns."""
    types = row_of(forms[0]).operand_types(forms[0])
    edges = list(dict.fromkeys(case for form in forms for case in row_of(form).cases(form)))
    chosen = source.sample(edges, min(len(edges), TUPLES - 16))
    return chosen + [tuple(source.getrandbits(bits_of(kind)) for kind in types) for _ in range(TUPLES - len(chosen))]


def register(kind: str, number: int, wide: bool) -> str:
    """A register for a type; a 64-bit one for any integer where ``wide``: conversions may cut and must extend."""
    if kind in ("pred", "f32", "f64"):
        return {"pred": "%p", "f32": "%f", "f64": "%g"}[kind] + str(number)
    if wide and kind[0] in "su":
        return f"%d{number}"
    return {8: "%b", 16: "%h", 32: "%r", 64: "%d"}[bits_of(kind)] + str(number)


def fetch(name: str, place: str) -> str:
    """Set a register from a 64-bit word in memory."""
    if name[:2] == "%p":
        return f"ld.global.b64 %d99, {place}; setp.ne.b64 {name}, %d99, 0;"
    return f"ld.global.b{PREFIX_BITS[name[:2]]} {name}, {place};"


def store(name: str, place: str) -> str:
    if name[:2] == "%p":
        return f"selp.b32 %r99, 1, 0, {name}; st.global.b32 {place}, %r99;"
    return f"st.global.b{PREFIX_BITS[name[:2]]} {place}, {name};"


def mark(name: str) -> str:
    """Give a register MARK."""
    small, large = f"mov.b32 %r98, {MARK};", f"mov.b64 %d98, {MARK};"
    return {"%p": "", "%b": f"{small} cvt.u8.u32 {name}, %r98;", "%h": f"mov.b16 {name}, {MARK};",
            "%r": f"mov.b32 {name}, {MARK};", "%d": f"mov.b64 {name}, {MARK};", "%f": f"{small} mov.b32 {name}, %r98;",
            "%g": f"{large} mov.b64 {name}, %d98;"}[name[:2]]


def instruction(form: Form, number: int, sources: list[str], wide: bool) -> tuple[list[str], str]:
    """(result registers, code). Every third is guarded by %p90, every third by !%p90; one in two of two results drops its
    second one."""
    targets = [register(kind, 20 + k, wide) for k, kind in enumerate(row_of(form).result_types(form))]
    if form.parts[0] == "setp" and number % 2:
        targets.pop()
    guard = ("", "@%p90 ", "@!%p90 ")[number % 3]
    code = f"{guard}{spelled(form, targets, sources)};"
    return targets, (" ".join(map(mark, targets)) if guard and targets[0][:2] != "%p" else "") + code


def spelled(form: Form, targets: list[str], sources: list[str]) -> str:
    name, kind = form.parts[0], form.type
    if name.startswith(("pack", "unpack")):
        return f"mov.{kind} " + ", ".join(braced(names) for names in (targets, sources))
    return f"{form.opcode} {'|'.join(targets)}, {', '.join(sources)}"


def braced(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def expected(form: Form, number: int, case: tuple[int, ...], guard: bool, wide: bool) -> list[int | None]:
    """Bits of each result; None where the register held nothing before a guarded write that did not happen."""
    row = row_of(form)
    kinds, said = row.result_types(form), row.oracle(form, *map(decode, case, row.operand_types(form)))
    if number % 3 and guard != (number % 3 == 1):
        return [None if kind == "pred" else MARK % (1 << (64 if wide else bits_of(kind))) for kind in kinds]
    patterns = [encode(value, kind) for value, kind in zip(said if isinstance(said, tuple) else (said,), kinds, strict=True)]
    return [extended(pattern, kind) if wide else pattern for pattern, kind in zip(patterns, kinds, strict=True)]


def extended(pattern: int, kind: str) -> int:
    bits = bits_of(kind)
    return pattern | (1 << 64) - (1 << bits) if kind[0] == "s" and pattern >> (bits - 1) else pattern


def same(kind: str, tolerance: float, found: int, said: int) -> bool:
    """Equal bits; any NaN for a NaN; within the row's tolerance."""
    if kind in ("f16x2", "bf16x2"):
        return all(same(kind[:-2], tolerance, found >> s & 0xFFFF, said >> s & 0xFFFF) for s in (0, 16))
    if found == said or not is_float(kind):
        return found == said
    x, y = decode(found, kind), decode(said, kind)
    return (x != x and y != y) or abs(x - y) <= tolerance * max(abs(y), FORMATS[kind].least_normal)


def batches(seed: int, wide: bool) -> list[list[list[Form]]]:
    """The groups that belong in one kernel each: long kernels compile slowly."""
    found, size = [[]], 0
    for (convert, _), forms in groups(seed).items():
        if convert == wide:
            found[-1].append(forms)
            size += len(forms)
            if size > FORMS_PER_KERNEL:
                found, size = [*found, []], 0
    return found


@pytest.mark.parametrize("uniform", [False, True], ids=["a tuple per lane", "a tuple per block"])
@pytest.mark.parametrize("wide", [False, True], ids=["same widths", "conversions"])
def test_instructions_in_kernels_agree_with_their_oracles(bench, seed, wide, uniform):
    """All of them with one tuple per block; lane by lane, which compiles slowly, every other kernel, in turn by the seed."""
    every = batches(seed, wide)
    for batch in every if uniform else every[seed % 2::2]:
        check(bench, seed, batch, wide, uniform)


def check(bench, seed: int, batch: list[list[Form]], wide: bool, uniform: bool) -> None:
    """Run the forms of a batch in one kernel. Forms of a group share their operands."""
    lines = [f"mov.u32 %t, {'%ctaid.x' if uniform else '%tid.x'}; mul.wide.u32 %w0, %t, 8;",
             "add.u64 %w1, %a0, %w0; add.u64 %w2, %a1, %w0; and.b32 %r97, %t, 4; setp.ne.u32 %p90, %r97, 0;"]
    columns, checks = [], []
    for forms in batch:
        kinds = row_of(forms[0]).operand_types(forms[0])
        source = random.Random(f"{seed} {kinds}")
        cases = tuples_for(forms, source)
        registers = [register(kind, 1 + k, wide) for k, kind in enumerate(kinds)]
        for k, kind in enumerate(kinds):
            lines.append(fetch(registers[k], f"[%w1+{8 * TUPLES * len(columns)}]"))
            above = 0 if kind == "pred" else source.getrandbits(64) << bits_of(kind)
            columns.append([(case[k] | above) % (1 << 64) for case in cases])
        for form in forms:
            targets, code = instruction(form, len(checks), registers, wide)
            lines += [code, *(store(target, f"[%w2+{8 * TUPLES * (4 * len(checks) + k)}]") for k, target in enumerate(targets))]
            checks.append((form, cases, len(targets)))
    out = np.zeros((4 * len(checks), TUPLES), np.uint64)
    shape = {"grid": (TUPLES, 1, 1)} if uniform else {"block": (TUPLES, 1, 1)}
    bench.kernel("\n".join(lines), 2)(np.array(columns, np.uint64), out, **shape)
    for number, (form, cases, count) in enumerate(checks):
        row = row_of(form)
        for t, case in enumerate(cases):
            wanted = expected(form, number, case, bool(t & 4), wide)
            for k, kind in enumerate(row.result_types(form)[:count]):
                found = int(out[4 * number + k, t])
                assert wanted[k] is None or same(kind, row.tolerance, found, wanted[k]), \
                    f"{form.opcode} {[hex(x) for x in case]} -> {found:#x}, not {wanted[k]:#x}"


def carry_forms(source: random.Random) -> list[Form]:
    """Of each instruction and width one form: signed and unsigned carry alike."""
    alike = defaultdict(list)
    for row, form in ROWS.values():
        if isinstance(row, Row) and row.carry:
            alike[form.opcode.replace(".s", ".u")].append(form)
    return [source.choice(forms) for forms in alike.values()]


def test_every_instruction_that_carries_takes_and_leaves_the_flag(bench, seed):
    """The flag comes from a carry or borrow set just before, and is read by the addc or subc just after."""
    source, columns, checks = random.Random(seed), [], []
    lines = ["mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a0, %w0; add.u64 %w2, %a1, %w0;"]
    for number, form in enumerate(carry_forms(source)):
        kinds = [kind for kind in row_of(form).operand_types(form) if kind != "pred"]
        kind, verb = kinds[0], "sub" if form.parts[0].startswith("sub") else "add"
        cases = [tuple(source.choice((source.getrandbits(bits_of(k)), 0, 1, (1 << bits_of(k)) - 1)) for k in kinds)
                 + (source.getrandbits(1),) for _ in range(TUPLES)]
        registers = [register(k, 1 + n, False) for n, k in enumerate(kinds)]
        for k, name in enumerate((*registers, "%r90")):
            lines.append(fetch(name, f"[%w1+{8 * TUPLES * len(columns)}]"))
            columns.append([case[k] for case in cases])
        result = register(kind, 20, False)
        lines += ["add.cc.u32 %r91, %r90, 0xFFFFFFFF;" if verb == "add" else "sub.cc.u32 %r91, 0, %r90;",
                  f"{form.opcode} {result}, {', '.join(registers)};", f"{verb}c.u32 %r92, 0, 0;",
                  store(result, f"[%w2+{16 * TUPLES * number}]"), store("%r92", f"[%w2+{16 * TUPLES * number + 8 * TUPLES}]")]
        checks.append((form, cases, verb))
    out = np.zeros((len(checks), 2, TUPLES), np.uint64)
    bench.kernel("\n".join(lines), 2)(np.array(columns, np.uint64), out, block=(TUPLES, 1, 1))
    for number, (form, cases, verb) in enumerate(checks):
        row = row_of(form)
        for t, (*operands, flag) in enumerate(cases):
            said = row.oracle(form, *operands, *([bool(flag)] if "in" in row.carry.split() else []))
            value, after = said if isinstance(said, tuple) else (said, bool(flag))
            assert out[number, 0, t] == value, f"{form.opcode} {operands} with {flag}"
            assert out[number, 1, t] == (int(after) if verb == "add" else -int(after) & 0xFFFFFFFF), f"flag after {form.opcode}"


def test_numbers_of_128_bits_add_subtract_and_multiply_by_carry_chains(bench, seed):
    """Limbs of 64 and of 32 bits; where %p90 fails, the guarded middle of a chain leaves the flag alone."""
    source = random.Random(seed)
    x, y = ([source.choice((source.getrandbits(128), (1 << 128) - 1, 1 << 64, 0)) for _ in range(TUPLES)] for _ in range(2))
    inputs = np.array([[n >> shift & (1 << 64) - 1 for n in numbers] for numbers in (x, y) for shift in (0, 64)], np.uint64)
    row = 8 * TUPLES
    text = f"""mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w1, %a0, %w0; add.u64 %w2, %a1, %w0;
ld.global.u64 %d1, [%w1]; ld.global.u64 %d2, [%w1+{row}]; ld.global.u64 %d3, [%w1+{2 * row}];
ld.global.u64 %d4, [%w1+{3 * row}];
add.cc.u64 %d5, %d1, %d3; addc.u64 %d6, %d2, %d4; sub.cc.u64 %d7, %d1, %d3; subc.u64 %d8, %d2, %d4;
mul.lo.u64 %d9, %d1, %d3; mul.hi.u64 %d10, %d1, %d3; mad.lo.u64 %d10, %d1, %d4, %d10; mad.lo.u64 %d10, %d2, %d3, %d10;
mov.b64 {{%r1, %r2}}, %d1; mov.b64 {{%r3, %r4}}, %d3;
mul.lo.u32 %r5, %r1, %r3; mul.hi.u32 %r6, %r1, %r3; mul.lo.u32 %r7, %r2, %r4; mul.hi.u32 %r8, %r2, %r4;
mad.lo.cc.u32 %r6, %r1, %r4, %r6; madc.hi.cc.u32 %r7, %r1, %r4, %r7; addc.u32 %r8, %r8, 0;
mad.lo.cc.u32 %r6, %r2, %r3, %r6; madc.hi.cc.u32 %r7, %r2, %r3, %r7; addc.u32 %r8, %r8, 0;
mov.b64 %d11, {{%r5, %r6}}; mov.b64 %d12, {{%r7, %r8}};
and.b32 %r9, %t, 4; setp.ne.u32 %p90, %r9, 0;
add.cc.u32 %r10, 0xFFFFFFFF, 1; @%p90 add.cc.u32 %r10, 3, 4; addc.u32 %r11, 0, 0; cvt.u64.u32 %d13, %r11;
""" + "".join(f"st.global.u64 [%w2+{k * row}], %d{5 + k};" for k in range(9))
    out = np.zeros((9, TUPLES), np.uint64)
    bench.kernel(text, 2)(inputs, out, block=(TUPLES, 1, 1))
    words = out.tolist()
    for t in range(TUPLES):
        whole = [words[k][t] | words[k + 1][t] << 64 for k in range(0, 8, 2)]
        low = (x[t] & (1 << 64) - 1) * (y[t] & (1 << 64) - 1)
        assert whole == [(x[t] + y[t]) % (1 << 128), (x[t] - y[t]) % (1 << 128), x[t] * y[t] % (1 << 128), low]
        assert words[8][t] == (0 if t & 4 else 1)
