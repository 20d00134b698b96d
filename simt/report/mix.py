"""How often each SASS instruction ran, estimated: SASS knows its line of PTX, and the emulator how often that line ran.

The method, for each basic block of the SASS:

1. An instruction whose PTX instruction has one counterpart in machine code (FFMA for fma.f32, LDS for ld.shared, BAR for
   bar …) is a witness: the block ran as often as that line of PTX, divided by the copies that ptxas made of it (unrolling).
   One that ptxas put under a guard in place of a branch is none: the block runs in more warps than the branch let through.
   Nor is one that moves more bytes than its PTX instruction: it stands for several of them, of an unknown number of lines.
2. The block's count is what most of its witnesses say; of equally many, the smaller: code moves out of loops more than into
   them. A block without a witness asks all its instructions in the same way.
3. Every instruction of the block, whatever its origin, ran that often. Code that no path leads to (padding) did not.

So the loop control and the addresses that ptxas adds or removes are counted as the machine runs them, hoisted code where it
stands, and guarded code in every warp that passes it. What stays wrong: where ptxas unrolls once more and leaves a remainder
loop, both get an even share; routines of the compiler's for slow paths (division, square root) have no PTX and count
nothing. Hence the tag, "estimated".
"""
from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Iterable, Mapping

from simt.observe.profile import LaunchProfile
from simt.ptx.parser import parse
from simt.ptx.statements import Instruction as PtxInstruction
from simt.ptx.statements import Module, type_bytes
from simt.report import sass

TAG = "estimated"
INSTRUCTIONS = "smsp__inst_executed.sum"

WITNESSES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("FFMA", "DFMA", "HFMA2"), ("fma", "mad")),
    **dict.fromkeys(("FMUL", "DMUL", "HMUL2"), ("mul",)),
    **dict.fromkeys(("FADD", "DADD", "HADD2"), ("add", "sub")),
    **dict.fromkeys(("LDG", "LDS", "LDL", "LD"), ("ld",)),
    **dict.fromkeys(("STG", "STS", "STL", "ST"), ("st",)),
    **dict.fromkeys(("ATOM", "ATOMG", "ATOMS"), ("atom",)),
    **dict.fromkeys(("RED", "REDG"), ("red", "atom")),
    "BAR": ("bar", "barrier"), "SHFL": ("shfl",), "VOTE": ("vote",), "MATCH": ("match",), "REDUX": ("redux",),
    "LDGSTS": ("cp",),
}
"""SASS opcode -> PTX opcodes of which it is the one counterpart."""

CLASSES: dict[str, str] = {
    "FP32": "FFMA FMUL FADD FFMA2 FMUL2 FADD2 FMNMX FMNMX3 FSETP FSEL FSET FCHK FSWZADD",
    "FP64": "DFMA DMUL DADD DSETP DMNMX",
    "FP16": "HFMA2 HMUL2 HADD2 HSETP2 HSET2 HMNMX2",
    "tensor": "HMMA IMMA DMMA BMMA HGMMA IGMMA QGMMA QMMA OMMA WARPGROUP",
    "integer multiply-add": "IMAD IMUL XMAD IDP IDP4A",
    "integer and logic": "IADD3 IADD VIADD IADD32I LEA LOP3 LOP LOP32I SHF SHL SHR ISETP ISET IMNMX VIMNMX VIMNMX3 VIADDMNMX "
                         "IABS SEL BMSK PRMT SGXT PLOP3 FLO POPC BREV VABSDIFF VHMNMX ISCADD",
    "move": "MOV MOV32I MOVM CS2R S2R S2UR R2P P2R R2UR LDC LEPC",
    "special function": "MUFU",
    "conversion": "I2F F2I F2F I2I FRND I2FP F2FP F2IP I2IP",
    "global memory": "LDG STG LDGSTS LDGDEPBAR DEPBAR CCTL UBLKCP UTMALDG UTMASTG LDGMC",
    "shared memory": "LDS STS LDSM STSM",
    "local memory": "LDL STL",
    "generic memory": "LD ST",
    "atomic": "ATOM ATOMG ATOMS RED REDG",
    "warp": "SHFL VOTE VOTEU MATCH REDUX WARPSYNC ELECT NANOSLEEP",
    "barrier": "BAR MEMBAR FENCE ERRBAR SYNCS UCGABAR CCTLL",
    "branch": "BRA BRX JMP JMX EXIT RET CALL BSSY BSYNC BREAK BMOV KILL BPT YIELD RPCMOV",
}
"""Classes of the machine's instructions, by opcode; others that begin with U are the uniform datapath's.

Opcodes decide, as for a profiler: ptxas likes to set a register to a constant by HFMA2, and that counts as FP16.
"""
_CLASS_OF = {opcode: name for name, opcodes in CLASSES.items() for opcode in opcodes.split()}


@dataclasses.dataclass(frozen=True)
class Mix:
    """SASS of a launch with estimated counts of warp instructions. All tagged "estimated".

    functions:  the kernel and what it calls
    executions: by function and address;  ptx: the kernel's PTX instructions by line
    """

    functions: tuple[sass.Function, ...]
    executions: dict[tuple[str, int], int]
    ptx: Mapping[int, PtxInstruction]

    @property
    def total(self) -> int:
        """``smsp__inst_executed.sum``."""
        return sum(self.executions.values())

    @functools.cached_property
    def by_opcode(self) -> collections.Counter[str]:
        """Counts by opcode without modifiers."""
        return self._add(lambda instruction: instruction.base)

    @functools.cached_property
    def by_class(self) -> collections.Counter[str]:
        """Counts by the names of CLASSES, and "other"."""
        return self._add(lambda instruction: class_of(instruction.base))

    @functools.cached_property
    def by_line(self) -> dict[sass.Place | None, list[tuple[sass.Instruction, int]]]:
        """Line of the learner's program -> its instructions with their counts, in the order of the code."""
        found: dict[sass.Place | None, list[tuple[sass.Instruction, int]]] = collections.defaultdict(list)
        for function in self.functions:
            for instruction in function.instructions:
                if instruction.block is not None:
                    found[self.place(instruction)].append((instruction, self.executions[function.name, instruction.address]))
        return dict(found)

    def place(self, instruction: sass.Instruction) -> sass.Place | None:
        """The line that counters of its PTX belong to; else what the cubin says."""
        origin = self.ptx.get(instruction.ptx_line or 0)
        return (origin.source.file, origin.source.line) if origin and origin.source else instruction.place

    def _add(self, key) -> collections.Counter[str]:
        counts: collections.Counter[str] = collections.Counter()
        for function in self.functions:
            for instruction in function.instructions:
                counts[key(instruction)] += self.executions[function.name, instruction.address]
        return +counts


def class_of(base: str) -> str:
    """Class of an opcode without modifiers: "FFMA" -> "FP32"."""
    return _CLASS_OF.get(base) or ("uniform datapath" if base.startswith("U") else "other")


def instruction_mix(launch: LaunchProfile, *, live: bool = False) -> Mix:
    """The mix of a launch; live: with the registers in use. Raises sass.NoSass where there is no machine code to count, or it
    carries no lines."""
    functions = sass.disassemble(launch.code, launch.kernel, live=live)
    if not functions or not any(instruction.ptx_line for instruction in functions[0].instructions):
        raise sass.NoSass(
            "no SASS: this cubin has no table of PTX lines, as it was linked without lineinfo=True or from other PTX than the "
            "one that runs here, so nothing says which line its instructions belong to"
        )
    module = parsed(launch.code.ptx)
    functions = [found for found in functions if found.name == launch.kernel or found.name not in entries(module)]
    ptx = ptx_lines(module, launch.kernel)
    executions: dict[tuple[str, int], int] = {}
    for function in functions:
        counts = _block_counts(function.instructions, launch.executed, ptx)
        for instruction in function.instructions:
            executions[function.name, instruction.address] = counts.get(instruction.block, 0)
    return Mix(tuple(functions), executions, ptx)


@functools.lru_cache(maxsize=16)
def parsed(text: str) -> Module:
    """A module's PTX, as statements."""
    return parse(text)


def entries(module: Module) -> set[str]:
    """Names of its kernels."""
    return {function.name for function in module.functions.values() if function.is_entry}


def ptx_lines(module: Module, kernel: str) -> dict[int, PtxInstruction]:
    """The PTX instructions of a kernel and of the module's device functions, by line."""
    functions = [function for function in module.functions.values() if function.name == kernel or not function.is_entry]
    bodies = [function.body or () for function in functions]
    return {statement.line: statement for body in bodies for statement in body if isinstance(statement, PtxInstruction)}


def _block_counts(code: Iterable[sass.Instruction], executed: Mapping[int, int], ptx: Mapping[int, PtxInstruction]) -> dict:
    """Basic block -> how often it ran."""
    code = [instruction for instruction in code if instruction.block is not None]
    copies = collections.Counter((i.ptx_line, i.base) for i in code if is_witness(i, ptx))
    strong: dict[int, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    weak: dict[int, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for instruction in code:
        ran = executed.get(instruction.ptx_line or 0)
        if ran is None and instruction.ptx_line in ptx:
            ran = 0
        if ran is None or under_new_guard(instruction, ptx) or merged(instruction, ptx):
            continue
        weak[instruction.block][ran] += 1
        if is_witness(instruction, ptx):
            strong[instruction.block][round(ran / copies[instruction.ptx_line, instruction.base])] += 1
    return {block: _most((strong if strong[block] else weak)[block]) for block in list(weak)}


def is_witness(instruction: sass.Instruction, ptx: Mapping[int, PtxInstruction]) -> bool:
    """Whether its PTX instruction has this one counterpart."""
    origin = ptx.get(instruction.ptx_line or 0)
    return (
        origin is not None and not instruction.spill and not merged(instruction, ptx)
        and origin.opcode.split(".", 1)[0] in WITNESSES.get(instruction.base, ())
    )


def under_new_guard(instruction: sass.Instruction, ptx: Mapping[int, PtxInstruction]) -> bool:
    """Whether ptxas guarded what PTX branches around."""
    origin = ptx.get(instruction.ptx_line or 0)
    return instruction.text.startswith("@") and (origin is None or origin.guard is None)


def merged(instruction: sass.Instruction, ptx: Mapping[int, PtxInstruction]) -> bool:
    """Whether ptxas joined several memory accesses of the PTX in it: "STL.128" of "st.local.u32"."""
    origin = ptx.get(instruction.ptx_line or 0)
    if origin is None or origin.opcode.split(".", 1)[0] not in ("ld", "st"):
        return False
    *_, type_name = parts = origin.opcode.split(".")
    vector = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
    return instruction.base in WITNESSES and instruction.access_bytes > max(type_bytes(type_name) * vector, 4)


def _most(votes: collections.Counter[int]) -> int:
    return min(votes, key=lambda ran: (-votes[ran], ran))
