"""What cuda_occupancy.h says: the header of the CUDA toolkit, compiled and asked. It needs g++ and the toolkit's headers.

    python -m tests.simt.model.occupancy_oracle     writes occupancy.txt anew, over the grid below
"""
from __future__ import annotations

import functools
import itertools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from simt.model import Device, load, names

TABLE = Path(__file__).with_name("occupancy.txt")
THREADS = (32, 33, 96, 128, 160, 256, 384, 512, 640, 1000, 1024)
REGISTERS = (16, 32, 33, 40, 64, 72, 96, 128, 168, 255)
SHARED = (0, 1, 1024, 4096, 8193, 16384, 33792, 49152, 65536, 101376)
NONE = 2147483647           # INT_MAX: a launch that uses nothing of it

PROGRAM = r"""
#include <cstddef>
#include <climits>
#include <cstdio>
#include <cuda_occupancy.h>
int main() {
  int cc_major, cc_minor, block, threads_sm, regs_sm, sms, threads, regs;
  size_t shared_block, shared_sm, optin, reserved, shared;
  while (scanf("%d %d %d %d %d %d %zu %zu %zu %zu %d %d %zu", &cc_major, &cc_minor, &block, &threads_sm, &regs_sm, &sms,
               &shared_block, &shared_sm, &optin, &reserved, &threads, &regs, &shared) == 13) {
    cudaOccDeviceProp device;
    device.computeMajor = cc_major; device.computeMinor = cc_minor; device.maxThreadsPerBlock = block;
    device.maxThreadsPerMultiprocessor = threads_sm; device.regsPerBlock = regs_sm; device.regsPerMultiprocessor = regs_sm;
    device.warpSize = 32; device.sharedMemPerBlock = shared_block; device.sharedMemPerMultiprocessor = shared_sm;
    device.numSms = sms; device.sharedMemPerBlockOptin = optin; device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = INT_MAX; kernel.numRegs = regs; kernel.sharedSizeBytes = 0;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF; kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = optin; kernel.numBlockBarriers = 1;
    cudaOccDeviceState state; state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int failed = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared);
    if (failed) { printf("error %d\n", failed); continue; }
    printf("%d %d %d %d %d\n", result.activeBlocksPerMultiprocessor, result.blockLimitRegs, result.blockLimitSharedMem,
           result.blockLimitWarps, result.blockLimitBlocks);
  }
}
"""


@functools.cache
def why_not() -> str:
    """What is missing to ask the header; "" if nothing is."""
    if shutil.which("g++") is None:
        return "no g++ on PATH"
    return "" if folders() else "no cuda_occupancy.h among the installed wheels"


def folders() -> list[Path]:
    """Folders of headers in the environment's CUDA wheels."""
    return sorted({path.parent for base in map(Path, sys.path) for path in base.glob("nvidia/*/include/cuda_occupancy.h")})


def ask(cases: Iterable[tuple[Device, int, int, int]]) -> list[tuple[int, ...]]:
    """(active blocks, limits by registers, shared memory, warps, blocks) of each (device, threads, registers, shared bytes)."""
    lines = [" ".join(map(str, (
        *device.compute_capability, device.threads_per_block, device.threads_per_sm, device.registers_per_sm, device.sm_count,
        device.shared_bytes_per_block, device.shared_bytes_per_sm, device.shared_bytes_per_block_optin,
        device.shared_bytes_reserved, *shape))) for device, *shape in cases]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "oracle.cpp"), Path(folder, "oracle")
        source.write_text(PROGRAM)
        subprocess.run(["g++", "-O0", "-w", f"-I{folders()[0]}", str(source), "-o", str(program)], check=True)
        done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return [tuple(map(int, answer.split())) for answer in answers]


def grid() -> Iterator[tuple[Device, int, int, int]]:
    """The cases of the table."""
    for name, threads, registers in itertools.product(names(), THREADS, REGISTERS):
        device = load(name)
        yield from ((device, threads, registers, shared) for shared in SHARED if shared <= device.shared_bytes_per_block_optin)


def table() -> dict[tuple[str, int, int, int], int]:
    """Active blocks by (device, threads, registers, shared bytes), as committed."""
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, threads, registers, *blocks = line.split()
            found |= {(name, int(threads), int(registers), shared): int(count)
                      for shared, count in zip(SHARED, blocks, strict=False)}
    return found


def write() -> None:
    cases = list(grid())
    lines: dict[tuple[str, int, int], list[str]] = {}
    for (device, threads, registers, _), (active, *_) in zip(cases, ask(cases), strict=True):
        lines.setdefault((device.name, threads, registers), []).append(str(active))
    head = f"# active blocks per SM by cuda_occupancy.h of CUDA 13: device threads registers, then shared bytes {SHARED}\n"
    TABLE.write_text(head + "".join(" ".join(map(str, key)) + " " + " ".join(row) + "\n" for key, row in lines.items()))


if __name__ == "__main__":
    write()
