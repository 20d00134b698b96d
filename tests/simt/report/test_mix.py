"""How often SASS ran, estimated from how often its PTX did."""
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import simt
from kernels.case import Case
from kernels.ladder import load_ladder
from simt.observe import names
from simt.observe.instructions import Instructions
from simt.ptx.statements import Instruction as PtxInstruction
from simt.report import mix
from simt.report.sass import Instruction
from simt.runtime import counting

ALIKE = {
    "FFMA": "fma.", "LDS": "ld.shared.", "STS": "st.shared.", "LDG": "ld.global.", "STG": "st.global.",
    "BAR": ("bar.", "barrier."),
}
"""SASS and PTX that ptxas turns into each other one by one."""


def made(base: str, ptx_line: int | None, block: int = 0, opcode: str = "", text: str = "", spill: bool = False) -> Instruction:
    return Instruction(0, opcode or base, text or base, None, (), ptx_line, block, None, spill)


def ptx(**opcodes: str) -> dict[int, PtxInstruction]:
    """ptx(l1="fma.rn.f32", …): instructions by line; "@" before an opcode stands for a guard."""
    return {
        int(name[1:]): PtxInstruction(opcode.lstrip("@"), (), "%p1" if opcode[0] == "@" else None, False, int(name[1:]), None)
        for name, opcode in opcodes.items()
    }


def test_a_block_runs_as_often_as_its_ptx():
    code = [made("FFMA", 1), made("IADD3", 2), made("UMOV", None)]
    assert mix._block_counts(code, {1: 70, 2: 70}, ptx(l1="fma.rn.f32", l2="add.s64")) == {0: 70}


def test_unrolled_copies_share_the_count():
    code = [made("FFMA", 1) for _ in range(4)]
    assert mix._block_counts(code, {1: 400}, ptx(l1="fma.rn.f32")) == {0: 100}


def test_several_instructions_for_one_of_the_ptx_are_no_copies():
    code = [made("IMAD", 1), made("IMAD", 1), made("IADD3", 1)]
    assert mix._block_counts(code, {1: 30}, ptx(l1="mad.lo.s64")) == {0: 30}


def test_code_that_moved_out_of_a_loop_counts_where_it_stands():
    lines = ptx(l1="ld.global.f32", l2="fma.rn.f32", l3="add.s64", l4="st.global.f32")
    code = [made("LDG", 1, 0), made("ULDC", 2, 0), made("STG", 4, 0), made("FFMA", 2, 1), made("IADD3", 3, 1)]
    assert mix._block_counts(code, {1: 8, 2: 800, 3: 800, 4: 8}, lines) == {0: 8, 1: 800}


def test_what_ptxas_guards_instead_of_branching_around_runs_in_every_warp():
    lines = ptx(l1="ld.global.f32", l2="st.shared.f32", l3="@bra")
    code = [made("LDG", 1, text="@!P0 LDG.E R1, [R2]"), made("STS", 2), made("BRA", 3, text="@P0 BRA `(.L_x_1)")]
    assert mix._block_counts(code, {1: 60, 2: 100, 3: 100}, lines) == {0: 100}


def test_one_access_for_several_of_the_ptx_says_nothing_about_the_count():
    lines = ptx(l1="st.local.f32", l2="add.s32", l3="st.local.v4.f32")
    code = [made("STL", 1, opcode="STL.128"), made("STL", 1, opcode="STL.128"), made("IADD3", 2)]
    assert mix._block_counts(code, {1: 64, 2: 2}, lines) == {0: 2}
    assert not mix.is_witness(code[0], lines)
    assert mix.is_witness(made("STL", 3, opcode="STL.128"), lines)


def test_code_whose_ptx_never_ran_counts_nothing():
    assert mix._block_counts([made("STG", 1)], {}, ptx(l1="st.global.f32")) == {0: 0}


@pytest.mark.parametrize(("opcode", "name"), [
    ("FFMA", "FP32"), ("DADD", "FP64"), ("IMAD", "integer multiply-add"), ("LOP3", "integer and logic"),
    ("MUFU", "special function"),
    ("LDS", "shared memory"), ("LDG", "global memory"), ("STL", "local memory"), ("BAR", "barrier"), ("EXIT", "branch"),
    ("UIADD3", "uniform datapath"), ("SHFL", "warp"), ("HMMA", "tensor"), ("WHAT", "other"),
])
def test_opcodes_have_classes(opcode, name):
    assert mix.class_of(opcode) == name


def ptx_count(launch, found, start) -> int:
    return sum(times for line, times in launch.executed.items() if found.ptx[line].opcode.startswith(start))


@pytest.mark.parametrize("name", [step.name for step in load_ladder("matmul")])
def test_matmul_runs_as_many_of_each_instruction_in_sass_as_in_ptx(name, monkeypatch):
    """m = n = 128, k = 32, so no edge is ragged. Equal wherever ptxas makes one instruction of one.

    It guards the loads that double buffering does ahead, where PTX branches around them in the last round: there the machine
    issues up to a third more loads, in which no lane takes part. Instructions in all are 0.7 to 2.5 times those of the PTX:
    64-bit arithmetic takes two or more, and on the fast steps little of it is left in the loop.
    """
    monkeypatch.setattr(counting, "counting", lambda: (Instructions,))      # less to compile than with all counters
    ladder, case = load_ladder("matmul"), Case(m=128, n=128, k=32)
    arrays = ladder.make(case, np.random.default_rng(0)) | {"c": np.zeros((128, 128), np.float32)}
    buffers = {key: cuda.to_device(array) for key, array in arrays.items()}
    with simt.profile("all") as profile:
        ladder.step(name).run(buffers)
    launch, = profile.launches
    found = mix.instruction_mix(launch)
    for opcode, start in ALIKE.items():
        expected, counted = ptx_count(launch, found, start), found.by_opcode[opcode]
        if (name, opcode) == ("double_buffer", "LDG"):
            assert expected <= counted <= 4 / 3 * expected
        else:
            assert counted == expected, opcode
    assert found.by_opcode["FFMA"] == 128 * 128 * 32 / 32
    assert 0.7 < found.total / launch.counters[names.INSTRUCTIONS] < 2.5


def test_lines_classes_and_opcodes_add_up_to_the_total(launched):
    found = mix.instruction_mix(copied(launched))
    assert sum(found.by_class.values()) == sum(found.by_opcode.values()) == found.total > 0
    assert sum(times for rows in found.by_line.values() for _, times in rows) == found.total


def test_lines_of_ptx_that_ran_add_up_to_the_instructions(launched):
    launch = copied(launched)
    assert sum(launch.executed.values()) == launch.counters[names.INSTRUCTIONS]
    assert set(launch.executed) <= set(mix.ptx_lines(mix.parsed(launch.code.ptx), launch.kernel))


def test_other_kernels_of_the_module_are_left_out():
    functions = ((".entry", "first"), (".entry", "other"), (".func", "helper"))
    bodies = [f".visible {kind} {name}()\n{{\nret;\n}}" for kind, name in functions]
    module = mix.parsed("\n".join([".version 8.0\n.target sm_90\n.address_size 64", *bodies]))
    assert mix.entries(module) == {"first", "other"}
    assert sorted(mix.ptx_lines(module, "first")) == [6, 14]


def copied(launched, **more):
    """The profile of 512 warps that copy a number a lane."""
    return launched("copy", 512, 32, np.ones(512 * 32, np.float32), np.zeros(512 * 32, np.float32), **more).profile


def test_a_sample_stands_for_the_whole_grid(launched):
    whole, part = copied(launched), copied(launched, sample=8)
    assert part.sampled and not whole.sampled
    assert mix.instruction_mix(whole).by_opcode["STG"] == 512
    assert mix.instruction_mix(part).by_opcode == mix.instruction_mix(whole).by_opcode
