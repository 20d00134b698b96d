"""Kernel -> IR -> object code -> a callable ``run_blocks``.

What the disk cache holds of a kernel is enough to run it. The IR, which names a failing instruction, is worked out again
if a launch needs it.
"""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import hashlib
import json
import math
import threading

import llvmlite.binding as llvm

from simt.ir.inline import inline_calls
from simt.ir.program import Kernel, analyse_kernel
from simt.ir.variables import layout
from simt.jit import cache, hostcalls, support
from simt.jit.access import Bounds, Site
from simt.jit.entry import entry_points
from simt.jit.function import KernelEmitter
from simt.jit.switches import is_off
from simt.observe.linear import Readings
from simt.observe.observer import Slots
from simt.ptx.statements import Module

COMPILING = threading.Lock()        # LLVM contexts are not shared safely between Python threads
HUGE_LABELS = 4000                  # a kernel of more blocks is not optimised: that takes minutes, and seconds without
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
BRANCH_WEIGHTS = '!0 = !{!"branch_weights", i32 2000, i32 1}'


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """What running a compiled kernel takes, besides its code.

    state_bytes: memory of each warp while it waits at a barrier
    bounds:      of the groups of accesses that share a check, by their number
    allocates:   whether it calls malloc or free
    cooperative: whether blocks wait for each other
    counters:    64-bit counters of each worker (0 for a plain build)
    text:        hash of the IR
    """

    state_bytes: int
    bounds: tuple[Bounds, ...]
    allocates: bool
    cooperative: bool
    counters: int
    text: str

    def to_json(self) -> bytes:
        return json.dumps(dataclasses.astuple(self)).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Needs:
        state_bytes, bounds, *rest = json.loads(text)
        return cls(state_bytes, tuple(Bounds(*one) for one in bounds), *rest)


@dataclasses.dataclass(slots=True, eq=False)
class Details:
    """The kernel as it was compiled, for diagnosis.

    traps: (node, reason) by the number in ``fault_extra``; barriers: nodes by number - 1
    pointers: which parameters accesses are based on, once somebody has asked (simt/runtime/checking.py)
    """

    kernel: Kernel
    sites: list[Site]
    traps: list
    barriers: list
    pointers: dict[int, tuple[int, ...] | None] = dataclasses.field(default_factory=dict)


class Build:
    """One kernel for one block shape, to be compiled."""

    def __init__(self, module: Module, name: str, block_shape: tuple[int, int, int]):
        self.function = inline_calls(module, module.functions[name])
        self.block_shape = block_shape
        self.layout = layout(module, self.function)

    def emitter(self, observers: tuple = ()) -> tuple[KernelEmitter, str]:
        """What writes the kernel's IR, and the IR. observers: made for this build"""
        emitter = KernelEmitter(analyse_kernel(self.function, self.block_shape), observers)
        emitter.layout = self.layout
        return emitter, module_text(emitter)


def details_of(emitter: KernelEmitter) -> Details:
    barriers = [block.terminator for block in emitter.suspension.barriers]
    return Details(emitter.kernel, emitter.memory.planner.sites, emitter.suspension.traps, barriers)


@dataclasses.dataclass(eq=False)
class Machine:
    """A kernel compiled for one block shape.

    threads:       of a block
    observers:     those of a build that counts, with the places of their counters
    run, run_grid: the native functions of simt/jit/entry.py, of a context's address; safe on several threads at once
    """

    build: Build
    needs: Needs
    engine: object
    observers: tuple = ()

    def __post_init__(self) -> None:
        self.layout, self.threads = self.build.layout, math.prod(self.build.block_shape)
        self.run, self.run_grid = (ENTRY(self.engine.get_function_address(entry)) for entry in ("run_blocks", "run_grid"))

    @functools.cached_property
    def details(self) -> Details:
        return details_of(self.build.emitter()[0])

    @functools.cached_property
    def readings(self) -> Readings:
        """What the counters mean."""
        return Readings(self.observers, self.needs.counters)


def compile_kernel(module: Module, name: str, block_shape: tuple[int, int, int], observers: tuple[type, ...] = (),
                   digest: str = "") -> Machine:
    """Compile one kernel for one block shape, or take it from the disk cache.

    observers: classes from simt/observe; digest: of the module's text, for the cache ("": not kept)
    Raises Unsupported for PTX without a row.
    """
    build = Build(module, name, block_shape)
    optimised = not is_off("SIMT_OPTIMISE")
    key = json.dumps([digest, name, block_shape, [each.__qualname__ for each in observers], optimised]) if digest else ""
    head, _, code = (cache.load(key) if key else b"").partition(b"\n")
    if code and not observers:
        return Machine(build, Needs.from_json(head), linked(code))
    slots = Slots()
    watching = tuple(observer(slots) for observer in observers)
    emitter, text = build.emitter(watching)
    needs = needs_of(emitter, slots.count, text)
    if not code or Needs.from_json(head) != needs:
        with COMPILING:
            code = object_code(text, optimised and text.count(":\n") <= HUGE_LABELS)
        if key:
            cache.save(key, needs.to_json() + b"\n" + code)
    machine = Machine(build, needs, linked(code), watching)
    machine.details = details_of(emitter)
    return machine


def needs_of(emitter: KernelEmitter, counters: int, text: str) -> Needs:
    bounds = tuple(Bounds(group.space, group.size, group.low, group.extent) for group in emitter.memory.planner.groups)
    cooperative = any(block.barrier.base == "call" for block in emitter.suspension.barriers)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Needs(emitter.state_bytes, bounds, emitter.calls.allocates, cooperative, counters, digest)


def module_text(emitter: KernelEmitter) -> str:
    body = emitter.emit()
    emitter.state_bytes = -(-emitter.suspension.state_bytes // 64) * 64
    barriers = [block.barrier.base == "call" for block in emitter.suspension.barriers]
    entry = entry_points(emitter.kernel.threads, emitter.state_bytes, barriers, emitter.suspension.kinds())
    declared = dict.fromkeys([*emitter.text.declarations.values(), *external(emitter), *support.SIGNATURES.values(),
                              *support.FROM_PYTHON.values()])
    declared.pop("declare i64 @llvm.umin.i64(i64, i64)", None)
    attributes = 'attributes #0 = { nounwind "prefer-vector-width"="256" "min-legal-vector-width"="0" "no-builtins" }'
    return "\n".join([*declared, *emitter.memory.global_text(), *emitter.special.global_text(), body, entry, attributes,
                      BRANCH_WEIGHTS])


def external(emitter: KernelEmitter) -> list[str]:
    """Declarations of the functions that observers call; makes them known to the linker."""
    declared = []
    for observer in emitter.observers:
        for name, function in observer.symbols().items():
            llvm.add_symbol(name, function.address)
        declared += observer.DECLARATIONS
    return declared


@functools.cache
def target_machine(level: int = 2):
    return new_target_machine(level)


def new_target_machine(level: int = 2):
    """An engine owns and frees its target machine, so each gets its own. level: of LLVM's code generator, 0 to 3"""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
                                        opt=level, jit=True)


@functools.cache
def load_support() -> object:
    """Compile the shared functions and make their names known to the linker of later modules."""
    code = cache.load("shared functions")
    if not code:
        code = object_code(support.module_text())
        cache.save("shared functions", code)
    engine = link(code)
    for name, address in hostcalls.addresses().items():
        llvm.add_symbol(name, address)
    for name in support.SIGNATURES:
        llvm.add_symbol(name, engine.get_function_address(name))
    return engine


def linked(code: bytes):
    """An engine that holds the code of a kernel, bound to the shared functions."""
    with COMPILING:
        load_support()
        return link(code)


def object_code(text: str, optimised: bool = True) -> bytes:
    """Machine code for IR. What is not optimised is made several times as fast, and runs several times as long."""
    machine = target_machine(2 if optimised else 0)
    module = llvm.parse_assembly(text)
    module.verify()
    if optimised:
        optimise(module, machine)
    return machine.emit_object(module)


def optimise(module, machine) -> None:
    """Few passes: they give the run time of O2 here at less than half its compile time."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def link(code: bytes):
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), new_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine
