"""The machine code of a kernel: what nvdisasm prints, as instructions that know their lines."""
from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from numba import cuda, float32

import simt
from simt.driver import cubin
from simt.driver.image import Image
from simt.driver.libraries import Library
from simt.observe.profile import Code
from simt.report import mix, sass
from simt.report.sass import NoSass
from tests.simt.report.places import place_of


@cuda.jit(device=True)
def halved(x):
    half = x * float32(0.5)
    return math.sqrt(half)


@cuda.jit
def scaled(a, n):
    x = cuda.grid(1)
    if x < n:
        total = float32(0)
        for i in range(n):
            total += a[i] * a[x]
        a[x] = halved(total)


@pytest.fixture(scope="module")
def profile():
    """Of 2 x 32 threads that add up 64 products each."""
    with simt.profile("all") as found:
        scaled[2, 32](cuda.to_device(np.ones(64, np.float32)), 64)
    return found.launches[0]


@pytest.fixture(scope="module")
def code(profile):
    """The kernel's instructions."""
    return sass.disassemble(profile.code, profile.kernel)[0].instructions


def line(text: str, function=scaled) -> tuple[str, int]:
    """The place of the line that holds this text."""
    return place_of(function, text)


def test_instructions_follow_each_other(code):
    assert [instruction.address for instruction in code] == list(range(0, 16 * len(code), 16))
    assert {"FFMA", "LDG", "STG", "EXIT"} <= {instruction.base for instruction in code}
    assert next(found.opcode for found in code if found.base == "LDG").startswith("LDG.E")


def test_an_instruction_knows_its_line_of_the_program(code, profile):
    ptx = mix.ptx_lines(mix.parsed(profile.code.ptx), profile.kernel)
    sums = [found for found in code if found.base == "FFMA" and ptx[found.ptx_line].opcode == "fma.rn.f32"]
    assert {found.place for found in sums} == {line("total += a[i] * a[x]")}
    assert {found.place for found in code if found.base == "STG"} == {line("a[x] = halved(total)")}


def test_an_instruction_of_an_inlined_function_knows_who_calls_it(code):
    found = {(instruction.place, instruction.inlined) for instruction in code if instruction.base == "MUFU"}
    assert found == {(line("return math.sqrt(half)", halved), (line("a[x] = halved(total)"),))}


def test_an_instruction_knows_its_ptx(code, profile):
    ptx = mix.ptx_lines(mix.parsed(profile.code.ptx), profile.kernel)
    origins = {found.base: ptx[found.ptx_line].opcode for found in code if found.base in ("LDG", "STG", "MUFU")}
    assert origins == {"LDG": "ld.global.f32", "STG": "st.global.f32", "MUFU": "sqrt.rn.f32"}


def test_both_tables_of_lines_tell_the_same(code, profile):
    """What moved between lines, and what ptxas adds at the start, is all that differs."""
    ptx = mix.ptx_lines(mix.parsed(profile.code.ptx), profile.kernel)
    known = [found for found in code if found.ptx_line in ptx and ptx[found.ptx_line].source]
    same = [found for found in known if found.place == (ptx[found.ptx_line].source.file, ptx[found.ptx_line].source.line)]
    assert len(same) > 0.9 * len(known) > 0.8 * len(code) - 16


def test_registers_in_use_stay_below_what_a_thread_has(code, profile):
    live = [found.live for found in code if found.live is not None]
    assert 0 < max(live) <= profile.registers


def test_without_registers_in_use_the_code_is_the_same(code, profile):
    plain, *_ = sass.disassemble(profile.code, profile.kernel, live=False)
    assert [dataclasses.replace(found, live=None) for found in code] == list(plain.instructions)


def test_no_path_leads_to_the_padding_behind_the_last_exit(code):
    assert code[0].block == 0
    assert [found.block for found in code if found.base == "NOP"] == [None] * sum(found.base == "NOP" for found in code)
    assert code[-1].block is None
    assert all(found.block is not None for found in code if found.base in ("FFMA", "STG", "EXIT"))


def test_lines_of_ptx_are_those_of_the_whole_module(code, profile):
    """Where more is linked, the PTX that runs has other modules above the kernel's."""
    above = ".version 8.0\n.target sm_75\n.address_size 64\n// nothing\n"
    shifted, *_ = sass.disassemble(Code(above + profile.code.ptx, profile.code.cubin), profile.kernel, live=False)
    assert [found.ptx_line for found in shifted.instructions] == [found.ptx_line + 4 for found in code]


def test_ptx_that_is_not_the_cubins_gives_no_lines(profile):
    other = Code(profile.code.ptx.replace("fma.rn.f32", "fma.rz.f32"), profile.code.cubin)
    found, *_ = sass.disassemble(other, profile.kernel, live=False)
    assert {instruction.ptx_line for instruction in found.instructions} == {None}


def test_code_without_lineinfo_says_so_and_is_not_guessed(profile):
    bare, _ = cubin._link(re.sub(r"\.loc\t.*", "", profile.code.ptx), simt.device().compute_capability)
    launch = dataclasses.replace(profile, code=Code(profile.code.ptx, bare))
    function, *_ = sass.disassemble(launch.code, launch.kernel, live=False)
    assert not function.has_lines
    with pytest.raises(NoSass, match="linked without lineinfo=True"):
        mix.instruction_mix(launch)


def test_a_module_that_was_loaded_as_text_has_sass_too(code, profile):
    library = Library(Image(profile.code.ptx))
    try:
        function, *_ = sass.disassemble(Code(profile.code.ptx, library.machine_code[0]), profile.kernel, live=False)
    finally:
        library.unload()
    assert [(found.text, found.place, found.ptx_line) for found in function.instructions] == [
        (found.text, found.place, found.ptx_line) for found in code
    ]


def test_ptx_that_ptxas_refuses_has_no_cubin():
    assert cubin.linked(".version 8.0\n.target sm_75\nnonsense", (9, 0)) == (None, "")


def test_without_a_cubin_there_is_no_sass_and_it_says_why(profile):
    with pytest.raises(NoSass, match="ptxas cannot compile this kernel's PTX for the device"):
        sass.disassemble(Code(profile.code.ptx), profile.kernel)


def test_a_damaged_cubin_is_told_in_nvdisasms_words(profile):
    with pytest.raises(NoSass, match="nvdisasm says"):
        sass._run(sass.find_nvdisasm(), sass.LINES, __file__)


def test_nvdisasm_comes_from_its_wheel_and_not_from_the_path(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert sass.find_nvdisasm().exists()


def test_without_the_wheel_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sass, "WHEEL", "no-such-wheel")
    with pytest.raises(NoSass, match="pip install no-such-wheel"):
        sass.find_nvdisasm()


def test_mangled_names_become_the_learners():
    assert sass.readable("ld.param.u64 %rd1, [_ZN8__main__4tileB2v1B3cwE_param_3];") == "ld.param.u64 %rd1, [tile_param_3];"
    assert sass.readable("CALL.REL.NOINC `($tile$__cuda_sm20_div)") == "CALL.REL.NOINC `($tile$__cuda_sm20_div)"


@pytest.mark.parametrize(("text", "goes_on"), [
    ("BRA `(.L_x_1)", False), ("@P0 BRA `(.L_x_1)", True), ("BRA.U !UP0, `(.L_x_1)", True),
    ("BRA.DIV UR4, `(.L_x_1)", True), ("EXIT", False), ("@!P1 EXIT", True), ("RET.REL.NODEC R2 `(tile)", False),
    ("BSYNC B0", True), ("FFMA R1, R2, R3, R4", True),
])
def test_code_behind_an_unconditional_jump_is_not_reached(text, goes_on):
    opcode = text.split()[1] if text.startswith("@") else text.split()[0]
    blocks = sass._blocks([(opcode, text), ("NOP", "NOP"), ("NOP", "NOP")], {".L_x_1": 2})
    assert (blocks[1] is not None) == goes_on
