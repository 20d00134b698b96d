"""Kernel -> IR -> object code -> a callable ``run_blocks``."""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import threading

import llvmlite.binding as llvm

from simt.ir.inline import inline_calls
from simt.ir.program import Kernel, analyse_kernel
from simt.ir.variables import Layout, layout
from simt.jit import cache, hostcalls, support
from simt.jit.access import Site
from simt.jit.entry import entry_points
from simt.jit.function import KernelEmitter
from simt.observe.observer import Slots
from simt.ptx.statements import Module

COMPILING = threading.Lock()        # LLVM contexts are not shared safely between Python threads
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
BRANCH_WEIGHTS = '!0 = !{!"branch_weights", i32 2000, i32 1}'


@dataclasses.dataclass(slots=True, eq=False)
class Machine:
    """A kernel compiled for one block shape.

    run, run_grid: the native functions of simt/jit/entry.py, of a context's address; safe on several threads at once
    state_bytes:  memory that each warp needs while it waits at a barrier
    check_groups: pairs of the bounds-check cache, each worker its own
    allocates:    whether it calls malloc or free
    counters:     64-bit counters, each worker its own (0 for a plain build)
    traps:        (node, reason) by the number in ``fault_extra``; barriers: nodes by number - 1
    """

    kernel: Kernel
    layout: Layout
    run: object
    run_grid: object
    state_bytes: int
    groups: list
    sites: list[Site]
    traps: list
    barriers: list
    allocates: bool
    counters: int
    observers: tuple
    engine: object


def compile_kernel(module: Module, name: str, block_shape: tuple[int, int, int], observers: tuple = ()) -> Machine:
    """Compile one kernel for one block shape; ``observers``: classes from simt/observe.

    Raises Unsupported for PTX without a row.
    """
    function = inline_calls(module, module.functions[name])
    kernel = analyse_kernel(function, block_shape)
    places = layout(module, function)
    slots = Slots()
    watching = tuple(observer(slots) for observer in observers)
    emitter = KernelEmitter(kernel, watching)
    emitter.layout = places
    text = module_text(emitter)
    with COMPILING:
        engine = native(text)
    run, run_grid = (ENTRY(engine.get_function_address(entry)) for entry in ("run_blocks", "run_grid"))
    planner = emitter.memory.planner
    return Machine(kernel, places, run, run_grid, emitter.state_bytes, planner.groups, planner.sites, emitter.suspension.traps,
                   [block.terminator for block in emitter.suspension.barriers], emitter.calls.allocates, slots.count, watching,
                   engine)


def module_text(emitter: KernelEmitter) -> str:
    body = emitter.emit()
    emitter.state_bytes = -(-emitter.suspension.state_bytes // 64) * 64
    barriers = [block.barrier.base == "call" for block in emitter.suspension.barriers]
    entry = entry_points(emitter.kernel.threads, emitter.state_bytes, barriers)
    declared = dict.fromkeys([*emitter.text.declarations.values(), *support.SIGNATURES.values(), *support.FROM_PYTHON.values()])
    declared.pop("declare i64 @llvm.umin.i64(i64, i64)", None)
    attributes = 'attributes #0 = { nounwind "prefer-vector-width"="256" "min-legal-vector-width"="0" "no-builtins" }'
    return "\n".join([*declared, *emitter.memory.global_text(), *emitter.special.global_text(), body, entry, attributes,
                      BRANCH_WEIGHTS])


@functools.cache
def target_machine():
    return new_target_machine()


def new_target_machine():
    """An engine owns and frees its target machine, so each gets its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(),
                                        opt=2, jit=True)


@functools.cache
def load_support() -> object:
    """Compile the shared functions and make their names known to the linker of later modules."""
    engine = link(object_code(support.module_text()))
    for name, address in hostcalls.addresses().items():
        llvm.add_symbol(name, address)
    for name in support.SIGNATURES:
        llvm.add_symbol(name, engine.get_function_address(name))
    return engine


def native(text: str):
    load_support()
    return link(object_code(text))


def object_code(text: str) -> bytes:
    """Machine code for IR, from the disk cache where it has been compiled before."""
    code = cache.load(text)
    if code is None:
        machine = target_machine()
        module = llvm.parse_assembly(text)
        module.verify()
        optimise(module, machine)
        code = machine.emit_object(module)
        cache.save(text, code)
    return code


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
