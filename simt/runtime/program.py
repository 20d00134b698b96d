"""A loaded module: its PTX as data, its variables in device memory, and its kernels compiled on demand."""
from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import struct
import threading
from typing import TYPE_CHECKING

import numpy as np

import simt.isa  # noqa: F401  (fills the instruction table)
from simt.ir import functions
from simt.ir.variables import layout
from simt.jit.compile import Machine, compile_kernel
from simt.ptx import parse
from simt.ptx.statements import Imm, Symbol, Variable, type_bytes
from simt.runtime.memory import CONSTANT

if TYPE_CHECKING:
    from simt.runtime.memory import Memory


@dataclasses.dataclass(frozen=True, slots=True)
class ParamSpec:
    """Where a parameter lies in the parameter block, in bytes."""

    offset: int
    size: int
    align: int


@dataclasses.dataclass(frozen=True, slots=True)
class KernelSpec:
    name: str
    params: tuple[ParamSpec, ...]
    param_bytes: int
    static_shared_bytes: int
    local_bytes: int


def digest(ptx: str) -> str:
    """Of the text, wherever it declares its common variables: numba links a module's functions in an order that differs from
    process to process, and each brings one."""
    parts: dict[bool, list[str]] = {True: [], False: []}
    for line in ptx.splitlines():
        parts[line.startswith(".common ")].append(line)
    return hashlib.sha256("\n".join([*sorted(parts[True]), *parts[False]]).encode()).hexdigest()


class Program:
    """PTX text made ready to launch.

    kernels: KernelSpec by name;  globals: (address, bytes) by name of the module's global and constant variables
    Raises PtxError for text that is not PTX; Unsupported comes with the first launch that needs what is missing.
    """

    def __init__(self, ptx: str, memory: Memory, cc: tuple[int, int]):
        self.module = parse(ptx)
        self.digest = digest(ptx)
        self.memory, self.cc = memory, cc
        self.globals: dict[str, tuple[int, int]] = {}
        self.kernels = {f.name: self.spec(f) for f in self.module.functions.values() if f.is_entry and f.body is not None}
        self.quick: dict[tuple, object] = {}        # launches that run on the launching thread: simt/runtime/quick.py
        self._machines: dict[tuple, Machine] = {}
        self._lock = threading.Lock()
        self.place_variables()

    def spec(self, function) -> KernelSpec:
        places = layout(self.module, function)
        params = tuple(ParamSpec(places.params[p.name], p.size_bytes, p.align) for p in function.params)
        return KernelSpec(function.name, params, places.param_bytes, places.static_shared_bytes, places.local_bytes)

    def place_variables(self) -> None:
        variables = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        for variable in variables:
            size = max(variable.size_bytes, 1)
            kind = CONSTANT if variable.space == "const" else "module variable"
            self.globals[variable.name] = (self.memory.alloc(size, kind), variable.size_bytes)
        for variable in variables:
            self.initialise(variable)

    def initialise(self, variable: Variable) -> None:
        """Zero, then the initialiser's elements; symbols become addresses."""
        address, size = self.globals[variable.name]
        ctypes.memset(address, 0, size)
        width = type_bytes(variable.type)
        for index, item in enumerate(variable.initial or ()):
            bits = item.bits if isinstance(item, Imm) else self.address_of(item)
            raw = struct.pack("<Q", bits & (1 << 64) - 1)[:width]
            ctypes.memmove(address + index * width, raw, width)

    def address_of(self, symbol: Symbol) -> int:
        """Of a variable or a device function; 0 for a symbol that no module defines."""
        if symbol.name in self.globals:
            return self.globals[symbol.name][0] + symbol.offset
        return functions.addresses(self.module).get(symbol.name, 0)

    def global_addresses(self) -> np.ndarray:
        """Addresses in the order of Layout.globals (sorted names)."""
        return np.array([self.globals[name][0] for name in sorted(self.globals)] or [0], dtype=np.int64)

    def machine(self, name: str, block: tuple[int, int, int], observers: tuple[type, ...] = ()) -> Machine:
        """The kernel compiled for a block shape, plain or with observers."""
        key = (name, block, observers)
        with self._lock:
            if key not in self._machines:
                self._machines[key] = compile_kernel(self.module, name, block, observers, self.digest)
            return self._machines[key]

    def close(self) -> None:
        for address, _ in self.globals.values():
            self.memory.free(address)
        self.globals, self._machines, self.quick = {}, {}, {}
