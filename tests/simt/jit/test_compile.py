"""A kernel taken from the disk cache runs, faults and counts like one that was just compiled."""
from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, float32, int32

from simt.jit import compile as jit
from simt.ptx import parse
from simt.runtime.faults import Fault

DOUBLE = """mov.u32 %t, %tid.x; mul.wide.u32 %d1, %t, 4; add.u64 %d2, %a0, %d1; .loc 1 5 0
ld.global.u32 %r1, [%d2]; shl.b32 %r1, %r1, 1; bar.sync 0; add.u64 %d3, %a1, %d1; .loc 1 7 0
st.global.u32 [%d3], %r1;"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("SIMT_CACHE", raising=False)
    return tmp_path


@pytest.fixture
def compiled(monkeypatch):
    """Counts how often LLVM compiles."""
    jit.load_support()
    texts = []
    compile_text = jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda text, *how: texts.append(text) or compile_text(text, *how))
    return texts


def test_a_second_program_with_the_same_text_compiles_nothing(bench, compiled):
    for _ in range(3):
        out = np.zeros(40, np.uint32)
        bench.kernel(DOUBLE, 2)(np.arange(40, dtype=np.uint32), out, block=(40, 1, 1))
        assert out.tolist() == list(range(0, 80, 2))
    assert len(compiled) == 1


@pytest.mark.parametrize("other", [
    {"body": DOUBLE.replace("shl.b32 %r1, %r1, 1", "shl.b32 %r1, %r1, 2")}, {"block": (20, 2, 1)}, {"count": True},
], ids=["text", "block shape", "counters"])
def test_another_text_shape_or_set_of_counters_is_another_entry(bench, compiled, other):
    arrays = np.arange(40, dtype=np.uint32), np.zeros(40, np.uint32)
    bench.kernel(DOUBLE, 2)(*arrays, block=(40, 1, 1))
    kernel = bench.kernel(other.get("body", DOUBLE), 2)
    (kernel.count if other.get("count") else kernel)(*arrays, block=other.get("block", (40, 1, 1)))
    assert len(compiled) == 2


def test_a_fault_in_a_kernel_from_the_cache_names_line_and_thread(bench, compiled):
    notes = []
    for _ in range(2):
        with pytest.raises(Fault) as caught:
            bench.kernel(DOUBLE, 2)(np.zeros(40, np.uint32), np.zeros(33, np.uint32), block=(40, 1, 1))
        notes.append([line for line in caught.value.note.splitlines() if "0x" not in line and "allocation" not in line])
    assert len(compiled) == 1
    assert notes[0] == notes[1] and "kernel.py:7" in "".join(notes[1]) and "thread (33, 0, 0)" in "".join(notes[1])


def test_counters_from_the_cache_are_the_same(bench, compiled):
    arrays = np.arange(40, dtype=np.uint32), np.zeros(40, np.uint32)
    first, second = (bench.kernel(DOUBLE, 2).count(*arrays, block=(40, 1, 1)) for _ in range(2))
    assert len(compiled) == 1
    assert first.counters == second.counters and any(first.counters.values())


def test_an_entry_that_is_damaged_is_compiled_again(bench, compiled, place):
    arrays = np.arange(40, dtype=np.uint32), np.zeros(40, np.uint32)
    bench.kernel(DOUBLE, 2)(*arrays, block=(40, 1, 1))
    for entry in place.iterdir():
        entry.write_bytes(entry.read_bytes()[:-9])
    bench.kernel(DOUBLE, 2)(*arrays, block=(40, 1, 1))
    assert len(compiled) == 2 and arrays[1].tolist() == list(range(0, 80, 2))


def steps(x, out, limit):
    """Loops that lanes leave apart, a barrier in a loop, a shuffle, shared memory: what the analyses keep sets of."""
    tile = cuda.shared.array(96, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    total = float32(0)
    for _ in range(limit):
        tile[t] = x[i] if i < x.size else float32(0)
        cuda.syncthreads()
        while total < tile[95 - t]:
            total += float32(1)
            if total > float32(50) and t % 3 == 0:
                break
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, 1)
        cuda.syncthreads()
    if i < out.size:
        out[i] = total


DIGESTS = """
import hashlib, sys
import simt.isa
from simt.jit.compile import Build
from simt.observe import counting
from simt.observe.observer import Slots
from simt.ptx import parse
module, slots = parse(sys.stdin.read()), Slots()
name = next(iter(module.functions))
for observers in ((), tuple(one(slots) for one in counting())):
    print(hashlib.sha256(Build(module, name, (48, 2, 1)).emitter(observers)[1].encode()).hexdigest())
"""


def test_the_same_kernel_gives_the_same_ir_in_every_process():
    """The details of a kernel from the cache are worked out anew; they must number its instructions as its code does."""
    ptx, _ = cuda.compile_ptx(steps, (float32[::1], float32[::1], int32), cc=(9, 0), debug=False)
    found = [subprocess.run([sys.executable, "-c", DIGESTS], input=ptx, text=True, check=True, stdout=subprocess.PIPE,
                            env=os.environ | {"PYTHONHASHSEED": seed, "SIMT": "off"}).stdout for seed in ("1", "2", "3")]
    assert found[0] == found[1] == found[2]
    assert len(set(found[0].split())) == 2


def test_a_kernel_of_very_many_blocks_is_compiled_without_optimisation_and_does_the_same(bench, monkeypatch):
    """Optimising one of 10,000 LLVM blocks took minutes."""
    optimised = []
    monkeypatch.setattr(jit, "optimise", lambda module, machine: optimised.append(module))
    monkeypatch.setattr(jit, "HUGE_LABELS", 1)
    loop = START_LOOP + "LOOP: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %t; @%p1 bra LOOP;"
    out = np.zeros(40, np.uint32)
    bench.kernel(loop + STORE_LOOP, 1)(out, block=(40, 1, 1))
    assert not optimised
    assert out.tolist() == [max(t * (t - 1) // 2, 0) for t in range(40)]


@pytest.mark.parametrize("setting, made", [("off", 0), ("on", 1), (None, 1)])
def test_optimisation_can_be_switched_off_and_the_cache_keeps_both_apart(monkeypatch, tmp_path, setting, made):
    optimised, kept = [], []
    plain = jit.optimise
    monkeypatch.setattr(jit, "optimise", lambda *arguments: (optimised.append(1), plain(*arguments)))
    monkeypatch.setattr(jit.cache, "save", lambda key, code: kept.append(key))
    monkeypatch.delenv("SIMT_OPTIMISE", raising=False)
    if setting:
        monkeypatch.setenv("SIMT_OPTIMISE", setting)
    module = parse(cuda.compile_ptx(steps, (float32[::1], float32[::1], int32), cc=(9, 0), debug=False)[0])
    jit.compile_kernel(module, next(iter(module.functions)), (48, 2, 1), digest=f"of the test {tmp_path}")
    assert len(optimised) == made
    assert json.loads(kept[-1])[-1] == bool(made)


START_LOOP = "mov.u32 %t, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 0;"
STORE_LOOP = "mul.wide.u32 %d1, %t, 4; add.u64 %d1, %a0, %d1; st.global.u32 [%d1], %r1;"
