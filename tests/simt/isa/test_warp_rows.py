"""Every form of every warp row, run as PTX on whole, divergent and partial warps, does what its oracle says.

Loads, stores and atomics come in thousands of spellings that differ in memory order alone. Each space, type, vector and
operation is run; the other spellings must find the same row, and each order is run once.
"""
from __future__ import annotations

import random

import numpy as np
import pytest

from simt.isa import ROWS, Form, find
from simt.isa.memory import PATTERNS, elements, keep, signed, updated
from simt.isa.warp import shuffled
from simt.jit.access import parse

SEED = 20250607
TYPES = ("b64", "u64", "s64", "f64", "b32", "u32", "s32", "f32", "b16", "u16", "s16", "f16", "b8", "u8", "s8")   # large first
SIGNLESS = ("u64", "f64", "u32", "f32", "u16", "f16", "u8")
VECTORS = (".v2", ".v4")
ORDERS = frozenset({"volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys"})
SPACES = ("", ".global", ".shared", ".local", ".const")
LOADS = {f"ld{space}": [*(f"ld{space}.{kind}" for kind in TYPES), *(
    f"ld{space}{vector}.{kind}" for vector in VECTORS for kind in (*SIGNLESS, "s32", "s16", "s8"))]
    for space in (*SPACES, ".global.nc", ".param")}
STORES = {f"st{space}": [*(f"st{space}.{kind}" for kind in TYPES), *(
    f"st{space}{vector}.{kind}" for vector in VECTORS for kind in SIGNLESS)]
    for space in ("", ".global", ".shared", ".local")}
UPDATES = (*(f"add.{kind}" for kind in ("u32", "s32", "u64", "s64", "f32", "f64")),
           *(f"{name}.{kind}" for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
           *(f"{name}.{kind}" for name in ("and", "or", "xor") for kind in ("b32", "b64")), "inc.u32", "dec.u32")
EXCHANGES = tuple(f"{name}.{kind}" for name in ("exch", "cas") for kind in ("b32", "b64"))
ATOMICS = {f"{name}{space}": [f"{name}{space}.{rest}" for rest in (UPDATES if name == "red" else UPDATES + EXCHANGES)]
           for name in ("atom", "red") for space in ("", ".global", ".shared")}
SHUFFLES = [f"shfl.sync.{mode}.b32" for mode in ("up", "down", "bfly", "idx")]
VOTES = [f"vote.sync.{mode}.pred" for mode in ("all", "any", "uni")] + ["vote.sync.ballot.b32"]
MATCHES = [f"match.{mode}.sync.{kind}" for mode in ("any", "all") for kind in ("b32", "b64")]
REDUCTIONS = [f"redux.sync.{name}.{kind}" for name in ("add", "min", "max") for kind in ("u32", "s32")] + [
    f"redux.sync.{name}.b32" for name in ("and", "or", "xor")]
BARRIERS = ["bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync", "barrier.cta.sync", "barrier.cta.sync.aligned"]
BARRIER_VOTES = [f"{name}.{what}" for name in ("bar.red", "barrier.red", "barrier.red.aligned", "bar.cta.red",
                                               "barrier.cta.red.aligned") for what in ("popc.u32", "and.pred", "or.pred")]
FENCES = ["membar.cta", "membar.gl", "membar.sys"] + [
    f"fence{kind}.{scope}" for kind in ("", ".sc", ".acq_rel") for scope in ("cta", "gpu", "sys")]
CONVERSIONS = [f"cvta{to}.{space}.u64" for to in ("", ".to") for space in ("global", "shared", "const", "local")]
QUERIES = [f"isspacep.{space}" for space in ("global", "shared", "local")]

# The lanes that run in each warp of a test. The last warp has 11 threads.
RUNNING = (range(32), range(32), (1, 2, 3, 5, 8, 13, 21, 30), (0,), range(1, 32, 2), range(11))
THREADS = 32 * 5 + 11
ON = np.array([lane in lanes for lanes in RUNNING for lane in range(32)][:THREADS])
FAR = 0x4141414141414140      # an address that no running lane may use


def spelling_run_here(opcode: str) -> str:
    """The form with the same meaning that this file runs: without memory order, and in vectors without a useless sign."""
    parts = opcode.split(".")
    if parts[0] not in ("ld", "st", "atom", "red"):
        return opcode
    parts = [part for part in parts if part not in ORDERS]
    if parts[-2] in ("v2", "v4") and (parts[-1][0] == "b" or parts[-1] == "s64" or parts[0] == "st"):
        parts[-1] = parts[-1].replace("b", "u").replace("s", "u")
    return ".".join(parts)


def run_here() -> set[str]:
    groups = (*LOADS.values(), *STORES.values(), *ATOMICS.values(), SHUFFLES, VOTES, MATCHES, REDUCTIONS, BARRIERS,
              BARRIER_VOTES, FENCES, CONVERSIONS, QUERIES, ["activemask.b32", "bar.warp.sync", "nanosleep.u32"])
    return {opcode for group in groups for opcode in group}


def test_every_warp_form_is_run_in_this_file_or_means_the_same_as_one_that_is():
    left = run_here()
    for opcode, (row, form) in ROWS.items():
        if row.lower.__module__ in ("simt.isa.memory", "simt.isa.warp"):
            spelling = spelling_run_here(opcode)
            left.discard(opcode)
            assert spelling in run_here(), f"{opcode} is not run"
            assert find(spelling)[0] is row, f"{opcode} and {spelling} have different rows"
            if spelling != opcode:
                assert parse(Bare(form)) == parse(Bare(find(spelling)[1])), f"{opcode} and {spelling} access differently"
    assert not left, f"no row has {sorted(left)}"


class Bare:
    """A node as far as ``parse`` looks at it."""

    def __init__(self, form: Form):
        self.form = form


# -- the frame of a kernel: %a0 memory, %a1 which threads run, %a2 results, %a3… operands

AREA_BYTES = 44 << 10         # of shared memory, and of arrays
FRAME_BYTES = 1024            # of local memory per thread
THREAD = "mov.u32 %t, %tid.x; mul.wide.u32 %w0, %t, 8; add.u64 %w2, %a2, %w0;"


def copy_loop(label: str, begin: str, step: int, end: int, read: str, write: str) -> str:
    """Move 8-byte words; ``read`` and ``write`` are an opcode and a base each: "ld.global.b64 %d1"."""
    (load, source), (store, target) = read.split(), write.split()
    return f"""mov.u64 %d890, {begin};
{label}: setp.ge.u64 %p190, %d890, {end};
@%p190 bra {label}_end;
add.u64 %d891, {source}, %d890; {load} %d892, [%d891];
add.u64 %d893, {target}, %d890; {store} [%d893], %d892;
add.u64 %d890, %d890, {step};
bra {label};
{label}_end:
"""


# Space -> (declaration, what sets %w1 to its start and fills it from %a0, what copies it back to %a0).
MEMORY = {
    "": ("", "mov.u64 %w1, %a0;", ""),
    ".global": ("", "mov.u64 %w1, %a0;", ""),
    ".global.nc": ("", "mov.u64 %w1, %a0;", ""),
    ".const": ("", "mov.u64 %w1, table;", ""),
    ".shared": (f".shared .align 32 .b8 tile[{AREA_BYTES}];",
                "mov.u64 %w1, tile;" + copy_loop("FILL", "%w0", 8 * THREADS, AREA_BYTES, "ld.global.b64 %a0",
                                                 "st.shared.b64 %w1") + "bar.sync 0;",
                "bar.sync 0; mov.u64 %w1, tile;" + copy_loop("BACK", "%w0", 8 * THREADS, AREA_BYTES, "ld.shared.b64 %w1",
                                                             "st.global.b64 %a0")),
    ".local": (f".local .align 32 .b8 frame[{FRAME_BYTES}];",
               f"mov.u64 %w1, frame; mul.wide.u32 %w3, %t, {FRAME_BYTES}; add.u64 %w3, %a0, %w3;"
               + copy_loop("FILL", "0", 8, FRAME_BYTES, "ld.global.b64 %w3", "st.local.b64 %w1"),
               copy_loop("BACK", "0", 8, FRAME_BYTES, "ld.local.b64 %w1", "st.global.b64 %w3")),
}


def kernel_text(lines: list[str], operands: str, space: str = ".global") -> str:
    """``lines`` for the threads that run, with memory of the space at %w1. Each word of ``operands`` such as "d801:a3" reads
    the thread's 64-bit element of an array."""
    declaration, fill, back = MEMORY[space]
    reads = [pair.split(":") for pair in operands.split()]
    begin = "".join(f"add.u64 %d881, %{array}, %w0; ld.global.u64 %{register}, [%d881];\n" for register, array in reads)
    return f"""{declaration}
{THREAD}
{fill}
cvt.u64.u32 %d880, %t; add.u64 %d880, %a1, %d880; ld.global.u8 %r880, [%d880]; setp.ne.u32 %p1, %r880, 0;
@!%p1 bra DONE;
{begin}
{chr(10).join(lines)}
DONE:
{back}"""


def result(number: int, register: str, kind: str = "b64") -> str:
    """Store a register as this thread's element of row ``number`` of %a2."""
    return f"st.global.{kind} [%w2+{8 * THREADS * number}], {register};"


def results(rows: int) -> np.ndarray:
    return np.zeros((rows, THREADS), np.uint64)


def running() -> list[int]:
    return np.flatnonzero(ON).tolist()


def seeded(*what: object) -> random.Random:
    print(f"seed {SEED}")
    return random.Random(f"{SEED} {what}")


# -- loads and stores

DIFFERENT = (0, 0x1122334455667788, 0x7F00FF00FF00FF01, 0x5555AAAA5555AAAA)       # sets the elements of a vector apart


def area_bytes(space: str) -> int:
    """Bytes of the array behind a space: all threads' frames for local memory."""
    return FRAME_BYTES * THREADS if space == ".local" else AREA_BYTES


def bytes_of(form: Form) -> int:
    return elements(form) * form.bits // 8


def width(form: Form) -> int:
    """Bits of the register that an integer is loaded into: wider than the type wherever PTX allows it."""
    return 64 if elements(form) == 1 or form.bits == 64 else 32


def register_of(form: Form, number: int) -> str:
    return {"f16": "%h", "f32": "%f", "f64": "%g"}.get(form.type, "%d" if width(form) == 64 else "%r") + str(number)


def as_integer(form: Form, number: int) -> str:
    """Set %r or %d of a number, by the width, to the bits of the register of that number."""
    wide = width(form) == 64
    return {"f16": f"cvt.u64.u16 %d{number}, %h{number};" if wide else f"cvt.u32.u16 %r{number}, %h{number};",
            "f32": f"mov.b32 %r{number}, %f{number};" + (f"cvt.u64.u32 %d{number}, %r{number};" if wide else ""),
            "f64": f"mov.b64 %d{number}, %g{number};"}.get(form.type, "")


def integer_result(form: Form, row: int, number: int) -> str:
    """Store what ``as_integer`` made."""
    return result(row, f"%d{number}", "b64") if width(form) == 64 else result(row, f"%r{number}", "b32")


def from_word(form: Form, number: int, word: str) -> str:
    """Set the register of that number to the low bits of a 64-bit register; integers may keep what lies above."""
    target = register_of(form, number)
    return {"f16": f"cvt.u16.u64 {target}, {word};", "f64": f"mov.b64 {target}, {word};",
            "f32": f"cvt.u32.u64 %r{number}, {word}; mov.b32 {target}, %r{number};"}.get(
                form.type, f"cvt.u{width(form)}.u64 {target}, {word};")


def braced(registers: list[str]) -> str:
    return registers[0] if len(registers) == 1 else "{" + ", ".join(registers) + "}"


def extended(form: Form, pattern: int) -> int:
    """What a load of the pattern leaves in the register."""
    value = keep(form, pattern)
    return signed(form.bits, value) & (1 << width(form)) - 1 if form.type[0] == "s" else value


def word(memory: np.ndarray, at: int) -> int:
    return int.from_bytes(memory[at:at + 8].tobytes(), "little")


def patterned(count: int, source: random.Random) -> np.ndarray:
    """Bytes of edge patterns and random words."""
    words = [source.choice(PATTERNS) if source.random() < 0.5 else source.getrandbits(64) for _ in range(count // 8)]
    return np.array(words, np.uint64).view(np.uint8)


def by_vector(groups: dict[str, list[str]]) -> list:
    """(space, forms) for each space and vector width."""
    return [pytest.param(name[2:], [form for form in map(Form, opcodes) if elements(form) == count], id=f"{name}.v{count}")
            for name, opcodes in groups.items() for count in (1, 2, 4)]


def places_for(count: int, limit: int, source: random.Random) -> np.ndarray:
    """Which cell each thread uses: scattered for scalars, and anywhere at all for threads that do not run; side by side for
    vectors, which kernels compute from %tid."""
    if count > 1:
        return np.arange(THREADS, dtype=np.uint64) % limit
    chosen = source.sample(range(limit), THREADS) if limit >= THREADS else source.choices(range(limit), k=THREADS)
    return np.where(ON, chosen, FAR).astype(np.uint64)


def place(count: int, limit: int) -> str:
    """%d801 = the cell of ``places_for``, given in %d803."""
    if count == 1:
        return "mov.b64 %d801, %d803;"
    return f"rem.u32 %r801, %t, {limit}; cvt.u64.u32 %d801, %r801;"


def fold(form: Form, numbers: range) -> str:
    """The last register becomes all elements folded into one number."""
    name, bits = ("%d", 64) if width(form) == 64 else ("%r", 32)
    return "".join(f"shl.b{bits} {name}{k}, {name}{k}, 3; add.u{bits} {name}{k + 1}, {name}{k}, {name}{k + 1};"
                   for k in numbers[:-1])


def folded(form: Form, values: list[int]) -> int:
    total = 0
    for value in values:
        total = (total * 8 + value) % (1 << width(form))
    return total


@pytest.mark.parametrize(("space", "forms"), by_vector({name: LOADS[name] for name in LOADS if name != "ld.param"}))
def test_loads_extend_to_the_register_and_idle_lanes_may_hold_any_address(bench, space, forms):
    source = seeded(space, forms)
    count, limit = elements(forms[0]), 32
    memory = patterned(area_bytes(space), source)
    cells = places_for(count, limit, source)
    lines = [place(count, limit)]
    for number, form in enumerate(forms):
        rows = range(number * count, (number + 1) * count)
        lines += [f"mad.lo.u64 %d800, %d801, {bytes_of(form)}, %w1;",
                  f"{form.opcode} {braced([register_of(form, row) for row in rows])}, [%d800];",
                  *(as_integer(form, row) for row in rows), fold(form, rows),
                  integer_result(form, number, rows[-1])]
    kernel = bench.kernel(kernel_text(lines, "d803:a3", space), 4, f".const .align 32 .b8 table[{AREA_BYTES}];")
    if space == ".const":
        kernel.set("table", memory)
    out = results(len(forms))
    kernel(memory, ON, out, cells, block=(THREADS, 1, 1))
    for number, form in enumerate(forms):
        for thread in running():
            at = int(cells[thread]) * bytes_of(form) + (thread * FRAME_BYTES if space == ".local" else 0)
            expected = [extended(form, word(memory, at + element * form.bits // 8)) for element in range(count)]
            assert int(out[number, thread]) == folded(form, expected), f"{form.opcode}, thread {thread}: {expected}"
    assert not out[:, ~ON].any()


@pytest.mark.parametrize(("space", "forms"), by_vector(STORES))
def test_stores_write_the_low_bits_of_running_lanes_and_nothing_else(bench, space, forms):
    source = seeded(space, forms)
    count, limit = elements(forms[0]), 1 if space == ".local" else THREADS
    before = patterned(area_bytes(space), source)
    cells = places_for(count, limit, source)
    values = patterned(8 * THREADS, source).view(np.uint64)
    lines = [place(count, limit), *(f"xor.b64 %d{810 + k}, %d802, {DIFFERENT[k]};" for k in range(count))]
    starts = np.cumsum([0] + [limit * bytes_of(form) for form in forms]).tolist()
    for number, (form, start) in enumerate(zip(forms, starts, strict=False)):
        rows = range(number * count, (number + 1) * count)
        lines += [f"mad.lo.u64 %d800, %d801, {bytes_of(form)}, %w1;",
                  *(from_word(form, row, f"%d{810 + k}") for k, row in enumerate(rows)),
                  f"{form.opcode} [%d800+{start}], {braced([register_of(form, row) for row in rows])};"]
    kernel = bench.kernel(kernel_text(lines, "d803:a3 d802:a4", space), 5)
    after, expected = before.copy(), before.copy()
    kernel(after, ON, results(1), cells, values, block=(THREADS, 1, 1))
    for form, start in zip(forms, starts, strict=False):
        for thread in running():
            at = start + int(cells[thread]) * bytes_of(form) + (thread * FRAME_BYTES if space == ".local" else 0)
            write(expected, form, at, int(values[thread]))
    assert np.array_equal(after, expected), f"first difference at byte {np.flatnonzero(after != expected)[0]} of {starts}"


def write(memory: np.ndarray, form: Form, at: int, value: int) -> None:
    """Store a value, and its relatives in the further elements of a vector."""
    stored = b"".join(keep(form, value ^ DIFFERENT[k]).to_bytes(form.bits // 8, "little") for k in range(elements(form)))
    memory[at:at + len(stored)] = np.frombuffer(stored, np.uint8)


def test_parameters_are_read_at_their_offsets(bench):
    source = seeded("param")
    content = patterned(40, source)
    lines, expected = [], []
    for form in map(Form, LOADS["ld.param"]):
        registers = [200 + element for element in range(elements(form))]
        lines += [f"{form.opcode} {braced([register_of(form, r) for r in registers])}, [block+8];",
                  *(as_integer(form, r) + integer_result(form, len(expected) + k, r) for k, r in enumerate(registers))]
        expected += [extended(form, word(content, 8 + k * form.bits // 8)) for k in range(elements(form))]
    kernel = bench.kernel(kernel_text(lines, ""), 3, more=".param .align 8 .b8 block[40]")
    out = results(len(expected))
    kernel(np.zeros(8, np.uint8), ON, out, block=(THREADS, 1, 1), more=content.tobytes())
    for thread in running():
        assert out[:, thread].tolist() == expected


def spellings(base: str, space: str) -> list[str]:
    """The forms of .b32 scalars in a space, in every memory order."""
    return [opcode for opcode in ROWS if spelling_run_here(opcode) == f"{base}{space}.b32"]


@pytest.mark.parametrize("space", ["", ".global", ".shared", ".local"])
def test_every_memory_order_moves_the_same_bits(bench, space):
    lines, expected = [f"mov.u64 %d700, %w1; {'' if space == '.local' else 'add.u64 %d700, %d700, %w0;'}"], []
    for store in spellings("st", space):
        expected.append(len(expected) + 7)
        lines.append(f"{store} [%d700], {expected[-1]}; ld{space}.b32 %d1, [%d700];" + result(len(expected) - 1, "%d1"))
    for load in spellings("ld", space):
        expected.append(expected[-1] + 1)
        lines.append(f"st{space}.b32 [%d700], {expected[-1]}; {load} %d1, [%d700];" + result(len(expected) - 1, "%d1"))
    assert len(expected) == 18
    out = results(len(expected))
    bench.kernel(kernel_text(lines, "", space), 3)(np.zeros(area_bytes(space), np.uint8), ON, out, block=(THREADS, 1, 1))
    assert (out[:, ON] == np.array(expected, np.uint64)[:, None]).all()


# Shape of an address as the compiler sees it -> (type, cell of each lane, code that computes it).
CELLS = {
    "uniform": ("v2.u32", lambda lane: 3, "mov.u32 %r800, 3;"),
    "side by side": ("u16", lambda lane: lane, "mov.u32 %r800, %laneid;"),
    "strided": ("v4.u8", lambda lane: 2 * lane + 1, "mad.lo.u32 %r800, %laneid, 2, 1;"),
    "backwards": ("u8", lambda lane: 31 - lane, "sub.u32 %r800, 31, %laneid;"),
    "one per half warp": ("u64", lambda lane: lane // 16 * 5, "shr.u32 %r800, %laneid, 4; mul.lo.u32 %r800, %r800, 5;"),
    "far apart": ("u32", lambda lane: 40 * lane, "mul.lo.u32 %r800, %laneid, 40;"),
}
WARP_BYTES = 7168


@pytest.mark.parametrize("space", [".global", ".shared", ".local"])
def test_addresses_of_every_shape_reach_their_cells_guarded_or_not(bench, space):
    """Of each shape a load, a guarded load that keeps the old value elsewhere, and a guarded store."""
    source = seeded("shapes", space)
    shapes = [shape for name, shape in CELLS.items() if not (space == ".local" and name == "far apart")]
    before = patterned(area_bytes(space), source)
    marked = np.array([source.getrandbits(1) for _ in range(THREADS)], np.uint64)
    lines = ["setp.ne.u64 %p2, %d802, 0;"]
    if space != ".local":
        lines.append(f"mov.u32 %r801, %warpid; mul.wide.u32 %d801, %r801, {WARP_BYTES}; add.u64 %w1, %w1, %d801;")
    for number, (kind, _, code) in enumerate(shapes):
        form = Form("ld." + kind)
        registers = braced([f"%d{k}" for k in range(elements(form))])
        lines += [code, f"mul.wide.u32 %d800, %r800, {bytes_of(form)}; add.u64 %d800, %d800, %w1;",
                  f"ld{space}.{kind} {registers}, [%d800+64]; {result(3 * number, '%d0')}",
                  f"mov.u64 %d0, 77; @!%p2 ld{space}.{kind} {registers}, [%d800+64]; {result(3 * number + 1, '%d0')}",
                  f"ld{space}.{kind} {registers}, [%d800+64]; add.u64 %d0, %d0, 1;",
                  f"@%p2 st{space}.{kind} [%d800+64], {registers}; ld{space}.{kind} {registers}, [%d800+64];",
                  result(3 * number + 2, "%d0")]
    out, memory = results(3 * len(shapes)), before.copy()
    bench.kernel(kernel_text(lines, "d802:a3", space), 4)(memory, ON, out, marked, block=(THREADS, 1, 1))
    expected, wanted = before.copy(), results(3 * len(shapes))
    for number, (kind, cell, _) in enumerate(shapes):
        form = Form("ld." + kind)
        at = {t: 64 + cell(t % 32) * bytes_of(form) + (t * FRAME_BYTES if space == ".local" else t // 32 * WARP_BYTES)
              for t in running()}
        for thread in running():
            value = keep(form, word(expected, at[thread]))
            wanted[3 * number:3 * number + 2, thread] = value, 77 if marked[thread] else value
        first = {thread: keep(form, word(expected, at[thread]) + 1) for thread in running() if marked[thread]}
        for thread, value in first.items():
            expected[at[thread]:at[thread] + form.bits // 8] = np.frombuffer(value.to_bytes(form.bits // 8, "little"), np.uint8)
        for thread in running():
            wanted[3 * number + 2, thread] = keep(form, word(expected, at[thread]))
    assert np.array_equal(memory, expected)
    for row, (found, right) in enumerate(zip(out, wanted, strict=True)):
        assert np.array_equal(found, right), f"row {row % 3} of {shapes[row // 3][0]} in{space}"


# -- atomics: every warp has 32 cells of 8 bytes for each operation

CELL_CHOICE = (lambda lane: 0, lambda lane: lane % 2, lambda lane: 31 - lane, lambda lane: 5, lambda lane: lane % 3,
               lambda lane: lane % 2 * 9)         # by warp: 1, 2, 32, 1, 3 and 2 addresses
CELLS_BYTES = 32 * 8 * len(RUNNING)


def atomic_operands(form: Form, source: random.Random, count: int) -> list[int]:
    """Bit patterns: small numbers where equal ones matter, exact sums for floats, any pattern for the rest."""
    if form.type[0] == "f":
        kind = np.float32 if form.bits == 32 else np.float64
        return np.array([source.randrange(-400, 400) / 8 for _ in range(count)], kind).view(f"u{form.bits // 8}").tolist()
    if {"inc", "dec", "cas"} & set(form.parts):
        return [source.randrange(4) for _ in range(count)]
    return [keep(form, source.choice((*PATTERNS, source.getrandbits(64)))) for _ in range(count)]


def after_atomic(form: Form, old: int, value: int, swap: int) -> int:
    if form.type[0] != "f":
        return updated(form, old, value, swap)
    kind, word = (np.float32, np.uint32) if form.bits == 32 else (np.float64, np.uint64)
    return int((word(old).view(kind) + word(value).view(kind)).view(word))


@pytest.mark.parametrize("group", ATOMICS)
def test_atomics_take_turns_in_lane_order(bench, group):
    """On 1, 2, 3 and 32 addresses, by whole, divergent and partial warps; idle lanes hold a stray address."""
    source = seeded(group)
    space, forms = group[4 if group.startswith("atom") else 3:], [Form(opcode) for opcode in ATOMICS[group]]
    cells = np.array([(t // 32 * 32 + CELL_CHOICE[t // 32](t % 32)) * 8 if on else FAR for t, on in enumerate(ON)], np.uint64)
    memory = np.zeros(AREA_BYTES, np.uint8)
    values, swaps = np.zeros((2, len(forms), THREADS), np.uint64)
    lines = ["add.u64 %d802, %d801, %w1; add.u64 %d803, %a4, %w0; add.u64 %d804, %a5, %w0;"]
    for number, form in enumerate(forms):
        initial = atomic_operands(form, source, CELLS_BYTES // 8)
        memory[number * CELLS_BYTES:(number + 1) * CELLS_BYTES] = np.array(initial, np.uint64).view(np.uint8)
        values[number], swaps[number] = (atomic_operands(form, source, THREADS) for _ in range(2))
        registers = [{"32": "%r", "64": "%d"}[str(form.bits)] + str(k) for k in range(3)]
        if form.type[0] == "f":
            registers = [{32: "%f", 64: "%g"}[form.bits] + str(k) for k in range(3)]
        kind = f"b{form.bits}" if form.type[0] != "f" else form.type
        row = f"{8 * THREADS * number}"
        lines += [f"ld.global.{kind} {registers[1]}, [%d803+{row}]; ld.global.{kind} {registers[2]}, [%d804+{row}];",
                  f"{form.opcode} {registers[0] + ',' if group.startswith('atom') else ''} [%d802+{number * CELLS_BYTES}], "
                  f"{', '.join(registers[1:3 if form.has('cas') else 2])};",
                  result(number, registers[0], kind) if group.startswith("atom") else ""]
    out, expected, wanted = results(len(forms)), memory.copy(), results(len(forms))
    bench.kernel(kernel_text(lines, "d801:a3", space), 6)(memory, ON, out, cells, values, swaps, block=(THREADS, 1, 1))
    for number, form in enumerate(forms):
        for thread in running():
            at = number * CELLS_BYTES + int(cells[thread])
            old = keep(form, word(expected, at))
            new = after_atomic(form, old, int(values[number, thread]), int(swaps[number, thread]))
            expected[at:at + form.bits // 8] = np.frombuffer(new.to_bytes(form.bits // 8, "little"), np.uint8)
            wanted[number, thread] = old if group.startswith("atom") else 0
        part = slice(number * CELLS_BYTES, (number + 1) * CELLS_BYTES)
        assert np.array_equal(memory[part], expected[part]), form.opcode
        assert np.array_equal(out[number], wanted[number]), form.opcode


# -- shuffles, votes, matches, reductions: every warp names the lanes that run

def warps() -> list[tuple[int, list[int]]]:
    """(first thread, running lanes) of each warp."""
    return [(32 * warp, list(lanes)) for warp, lanes in enumerate(RUNNING)]


MEMBERS = np.array([sum(1 << lane for lane in RUNNING[t // 32]) for t in range(THREADS)], np.uint64)
# clamp | segment mask << 8, as CUDA builds them for widths 32, 8, 4 and 1, and ones that only PTX can say.
CLAMPS = (0x1F, 0x181F, 0x1C1F, 0x1F1F, 0x00, 0x1800, 0x1C00, 0x1007, 0x0F0A, 0x1513)


def padded(numbers: np.ndarray, start: int) -> list[int]:
    """32 lane values from a thread on; lanes that do not exist hold 0."""
    return [int(n) for n in numbers[start:start + 32]] + [0] * max(start + 32 - THREADS, 0)


def shuffle_results(form: Form, values: np.ndarray, amounts: np.ndarray, clamps: np.ndarray) -> dict[int, int]:
    """By thread, value | in range << 32, for those whose source lane runs: what others read is not defined."""
    found = {}
    for start, lanes in warps():
        numbers = padded(np.arange(THREADS), start)     # thread numbers first: they tell which lane was read
        sources = shuffled(form, numbers, padded(amounts, start), int(clamps[start]), lanes)
        for lane in lanes:
            thread, inside = sources[lane]
            if thread - start in lanes:
                found[start + lane] = int(values[thread]) | inside << 32
    return found


@pytest.mark.parametrize("mode", range(4))
def test_shuffles_by_computed_steps_read_the_lane_that_the_pseudocode_names(bench, mode):
    form, source = Form(SHUFFLES[mode]), seeded(SHUFFLES[mode])
    values = np.array([source.getrandbits(32) for _ in range(THREADS)], np.uint64)
    kernel = bench.kernel(kernel_text([
        "cvt.u32.u64 %r1, %d801; cvt.u32.u64 %r2, %d802; cvt.u32.u64 %r3, %d803; cvt.u32.u64 %r4, %d804;",
        f"{form.opcode} %r0|%p2, %r1, %r2, %r3, %r4;",
        "cvt.u64.u32 %d0, %r0; selp.u64 %d1, 0x100000000, 0, %p2; or.b64 %d0, %d0, %d1;", result(0, "%d0"),
        f"{form.opcode} %r0, %r1, %r2, %r3, %r4; cvt.u64.u32 %d0, %r0;", result(1, "%d0")],
        "d801:a3 d802:a4 d803:a5 d804:a6"), 7)
    compared = 0
    for attempt in range(2 * len(CLAMPS)):
        amounts = np.array([source.choice((0, 1, 2, 7, 16, 31, 33, source.getrandbits(32))) for _ in range(THREADS)], np.uint64)
        clamps = np.array([CLAMPS[(attempt + t // 32) % len(CLAMPS)] for t in range(THREADS)], np.uint64)
        out = results(2)
        kernel(np.zeros(1, np.uint8), ON, out, values, amounts, clamps, MEMBERS, block=(THREADS, 1, 1))
        for thread, expected in shuffle_results(form, values, amounts, clamps).items():
            assert int(out[0, thread]) == expected, f"thread {thread}, step {amounts[thread]}, clamp {clamps[thread]:#x}"
            assert int(out[1, thread]) == expected & 0xFFFFFFFF
            compared += 1
    assert compared > 1000


def test_shuffles_by_constant_steps_agree_with_the_pseudocode(bench):
    source = seeded("constant shuffles")
    values = np.array([source.getrandbits(32) for _ in range(THREADS)], np.uint64)
    cases = [(Form(opcode), amount, clamp) for opcode in SHUFFLES
             for amount, clamp in ((1, 0x1F), (16, 0x1F), (3, 0x181F), (2, 0x1C00), (0, 0), (31, 0x0F0A), (37, 0x1513))]
    lines = ["cvt.u32.u64 %r1, %d801; activemask.b32 %r4;"]
    for number, (form, amount, clamp) in enumerate(cases):
        lines += [f"{form.opcode} %r0|%p2, %r1, {amount}, {clamp}, %r4;",
                  "cvt.u64.u32 %d0, %r0; selp.u64 %d1, 0x100000000, 0, %p2; or.b64 %d0, %d0, %d1;", result(number, "%d0")]
    out = results(len(cases))
    bench.kernel(kernel_text(lines, "d801:a3"), 4)(np.zeros(1, np.uint8), ON, out, values, block=(THREADS, 1, 1))
    for number, (form, amount, clamp) in enumerate(cases):
        amounts, clamps = np.full(THREADS, amount, np.uint64), np.full(THREADS, clamp, np.uint64)
        for thread, expected in shuffle_results(form, values, amounts, clamps).items():
            assert int(out[number, thread]) == expected, f"{form.opcode} by {amount}, {clamp:#x}: thread {thread}"


def agreeing(form: Form, source: random.Random) -> np.ndarray:
    """Operands by thread: few different numbers; the same one in all lanes of every other warp."""
    few = [keep(form, source.getrandbits(64)) for _ in range(3)] if form.type != "pred" else [0, 1, 1]
    return np.array([few[t // 32 % 3] if t // 32 % 2 else source.choice(few) for t in range(THREADS)], np.uint64)


def test_votes_matches_and_reductions_look_at_the_running_lanes(bench):
    """With the mask of members in a register that is the same for all lanes, and in one per lane."""
    source = seeded("votes")
    forms = [Form(opcode) for opcode in ("activemask.b32", *VOTES, *MATCHES, *REDUCTIONS)]
    operands = np.array([agreeing(Form("x.pred") if form.parts[0] == "vote" else form, source) for form in forms])
    lines = ["add.u64 %d803, %a3, %w0; cvt.u32.u64 %r5, %d804; activemask.b32 %r4;"]
    for number, form in enumerate(forms):
        members = ("%r4", "%r5")[number % 2]
        lines.append(f"ld.global.u64 %d1, [%d803+{8 * THREADS * number}]; cvt.u32.u64 %r1, %d1; setp.ne.u64 %p3, %d1, 0;")
        name, operand = form.parts[0], "%d1" if form.type == "b64" else "%r1"
        if name == "activemask":
            lines.append(f"{form.opcode} %r0; setp.eq.u32 %p2, 0, 1;")
        elif name == "vote" and form.type == "pred":
            lines.append(f"{form.opcode} %p4, %p3, {members}; selp.u32 %r0, 1, 0, %p4; setp.eq.u32 %p2, 0, 1;")
        elif name == "match" and form.has("all"):
            lines.append(f"{form.opcode} %r0|%p2, {operand}, {members};")
        else:
            lines.append(f"{form.opcode} %r0, {'%p3' if name == 'vote' else operand}, {members}; setp.eq.u32 %p2, 0, 1;")
        lines += ["cvt.u64.u32 %d0, %r0; selp.u64 %d1, 0x100000000, 0, %p2; or.b64 %d0, %d0, %d1;", result(number, "%d0")]
    out = results(len(forms))
    bench.kernel(kernel_text(lines, "d804:a4"), 5)(np.zeros(1, np.uint8), ON, out, operands, MEMBERS, block=(THREADS, 1, 1))
    for number, form in enumerate(forms):
        for start, lanes in warps():
            values = [] if form.parts[0] == "activemask" else [padded(operands[number], start)]
            said = find(form.opcode)[0].oracle(form, *values, lanes)
            for lane in lanes:
                value = int(said[lane] if isinstance(said, list) else said)
                agree = form.parts[:2] == ("match", "all") and value != 0
                assert int(out[number, start + lane]) == value | agree << 32, f"{form.opcode}, thread {start + lane}"


# -- barriers, fences, address spaces

def test_barriers_of_every_spelling_make_writes_of_other_warps_visible_and_excuse_threads_that_ended(bench):
    """Each thread reads what its mirror image wrote; threads 3, 40 and the whole third warp have ended before."""
    alive = np.array([t not in (3, 40) and not 64 <= t < 96 for t in range(THREADS)])
    lines = [f"sub.u32 %r1, {THREADS - 1}, %t; mul.wide.u32 %d1, %r1, 4; mul.wide.u32 %d2, %t, 4; mov.u64 %d3, cells;",
             "add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3; mad.lo.u32 %r2, %t, 1000, 7;"]
    for number, opcode in enumerate(BARRIERS):
        lines.append(f"add.u32 %r2, %r2, 1; st.shared.u32 [%d2], %r2; {opcode} 0; ld.shared.u32 %d4, [%d1]; {opcode} 0;"
                     + result(number, "%d4"))
    votes = results(len(BARRIER_VOTES))
    source = seeded("barriers")
    for number in range(len(BARRIER_VOTES)):
        votes[number] = source.getrandbits(1) if number % 3 else [source.getrandbits(1) for _ in range(THREADS)]
        votes[number, source.choice(np.flatnonzero(alive).tolist())] ^= np.uint64(number % 2)
    lines.append("add.u64 %d803, %a3, %w0;")
    for number, opcode in enumerate(BARRIER_VOTES):
        lines.append(f"ld.global.u64 %d5, [%d803+{8 * THREADS * number}]; setp.ne.u64 %p2, %d5, 0;")
        if opcode.endswith("pred"):
            lines.append(f"{opcode} %p3, 0, %p2; selp.u64 %d5, 1, 0, %p3;")
        else:
            lines.append(f"{opcode} %r5, 0, %p2; cvt.u64.u32 %d5, %r5;")
        lines.append(result(len(BARRIERS) + number, "%d5"))
    text = f".shared .align 4 .b8 cells[{4 * THREADS}];" + kernel_text(lines, "")
    out = results(len(BARRIERS) + len(BARRIER_VOTES))
    bench.kernel(text, 4)(np.zeros(1, np.uint8), alive, out, votes, block=(THREADS, 1, 1))
    mirror = np.arange(THREADS)[::-1]
    for number in range(len(BARRIERS)):
        read = alive & alive[mirror]
        assert (out[number, read] == mirror[read] * 1000 + 8 + number).all(), BARRIERS[number]
    for number, opcode in enumerate(BARRIER_VOTES):
        said = find(opcode)[0].oracle(Form(opcode), votes[number].tolist(), np.flatnonzero(alive).tolist())
        assert (out[len(BARRIERS) + number, alive] == int(said)).all(), opcode


def test_bar_warp_sync_fences_and_nanosleep_change_nothing(bench):
    lines = ["activemask.b32 %r4; add.u64 %d1, %w0, 5;", "bar.warp.sync %r4;", "cvt.u32.u64 %r5, %d804; bar.warp.sync %r5;",
             *(f"{opcode};" for opcode in FENCES), "nanosleep.u32 20;", result(0, "%d1")]
    out = results(1)
    bench.kernel(kernel_text(lines, "d804:a3"), 4)(np.zeros(1, np.uint8), ON, out, MEMBERS, block=(THREADS, 1, 1))
    assert (out[0, ON] == 8 * np.flatnonzero(ON) + 5).all() and not out[0, ~ON].any()


def test_generic_addresses_lead_to_every_space_and_back(bench):
    """cvta makes a generic address that loads, stores, atomics and isspacep understand; cvta.to undoes it."""
    lines = ["mov.u64 %d10, tile; mov.u64 %d11, frame; mov.u64 %d12, table; mov.u64 %d13, cell; and.b64 %d14, %w0, 255;",
             "add.u64 %d10, %d10, %d14; cvta.shared.u64 %d20, %d10; cvta.local.u64 %d21, %d11;",
             "cvta.const.u64 %d22, %d12; cvta.global.u64 %d23, %d13;",
             "st.u64 [%d20], %w0; ld.shared.u64 %d0, [%d10];", result(0, "%d0"),
             "st.u64 [%d21+8], %w0; ld.local.u64 %d0, [%d11+8];", result(1, "%d0"),
             "ld.u64 %d0, [%d22];", result(2, "%d0"),
             "atom.add.u64 %d0, [%d23], 1; atom.add.u64 %d0, [%d20], 2; ld.u64 %d0, [%d20];", result(3, "%d0")]
    for number, space in enumerate(("shared", "local", "const", "global")):
        lines += [f"cvta.to.{space}.u64 %d0, %d{20 + number}; sub.u64 %d0, %d0, %d{10 + number};", result(4 + number, "%d0")]
    for number, query in enumerate(QUERIES):
        for address in range(20, 24):
            lines += [f"{query} %p2, %d{address}; selp.u64 %d0, 1, 0, %p2;", result(8 + 4 * number + address - 20, "%d0")]
    declarations = ".const .align 8 .u64 table[1] = {51}; .global .align 8 .u64 cell;"
    text = ".shared .align 8 .b8 tile[512]; .local .align 8 .b8 frame[24];" + kernel_text(lines, "")
    kernel, out = bench.kernel(text, 3, declarations), results(20)
    one_warp = ON & (np.arange(THREADS) < 32)
    kernel(np.zeros(1, np.uint8), one_warp, out, block=(THREADS, 1, 1))
    own, found = 8 * np.arange(32), out[:, :32]
    assert np.array_equal(found[0], own) and np.array_equal(found[1], own) and (found[2] == 51).all()
    assert np.array_equal(found[3], own + 2)
    assert not found[4:8].any()
    spaces = ("shared", "local", "global", "global")        # constants lie in global memory here
    for number, query in enumerate(QUERIES):
        for address, space in enumerate(spaces):
            expected = find(query)[0].oracle(Form(query), space)
            assert (found[8 + 4 * number + address] == int(expected)).all(), f"{query} of an address in {space} memory"
