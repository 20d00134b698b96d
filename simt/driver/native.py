"""The few native instructions of the driver, compiled by LLVM when it is enabled.

``@name`` for each driver function: test ``@answer``, then go on to the Python callback.
``@gather``: kernel arguments from an array of pointers into one block, as they lie in param space.
"""
from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable

_GATHER = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @gather(ptr %block, ptr %pointers, ptr %layout, i64 %count) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %next, label %done
next:
  %index = phi i64 [0, %entry], [%after, %next]
  %at = getelementptr ptr, ptr %pointers, i64 %index
  %argument = load ptr, ptr %at
  %pair = getelementptr {i64, i64}, ptr %layout, i64 %index
  %offset = load i64, ptr %pair
  %size_at = getelementptr {i64, i64}, ptr %pair, i64 0, i32 1
  %size = load i64, ptr %size_at
  %target = getelementptr i8, ptr %block, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %argument, i64 %size, i1 false)
  %after = add i64 %index, 1
  %more = icmp slt i64 %after, %count
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Code:
    """Addresses of the compiled entries and of ``@answer``."""

    entries: dict[str, int]
    answer: int


class Gather:
    """A kernel's arguments, gathered by native code once ``compile_entries`` has run.

    layout: (offset, size) of each parameter, in bytes
    """

    _call: Callable[[object, int, object, int], None]

    def __init__(self, layout: list[tuple[int, int]], block_bytes: int) -> None:
        self._layout = (ctypes.c_int64 * (2 * len(layout)))(*(number for pair in layout for number in pair))
        self._count = len(layout)
        self._block = ctypes.create_string_buffer(block_bytes) if block_bytes else None

    def __call__(self, pointers: int) -> bytes:
        """The parameter block; not to be called by two threads at once."""
        if self._block is None:
            return b""
        Gather._call(self._block, pointers, self._layout, self._count)
        return self._block.raw


def compile_entries(callbacks: dict[str, tuple[int, int]]) -> Code:
    """Native entries for callbacks: name -> (address, number of arguments)."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = ["@answer = global i32 -1", _GATHER, *(_entry(name, *callback) for name, callback in callbacks.items())]
    module = llvm.parse_assembly("\n".join(text))
    module.triple = llvm.get_process_triple()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(opt=0, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    # One reference too many: the code must outlive the interpreter's last garbage collection.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    pointer, count = ctypes.c_void_p, ctypes.c_int64
    Gather._call = ctypes.PYFUNCTYPE(None, pointer, pointer, pointer, count)(engine.get_function_address("gather"))
    return Code(
        {name: engine.get_function_address(name) for name in callbacks}, engine.get_global_value_address("answer")
    )


def _entry(name: str, address: int, arity: int) -> str:
    arguments = ", ".join(f"i64 %a{index}" for index in range(arity))
    return f"""
define i32 @{name}({arguments}) {{
  %answer = load volatile i32, ptr @answer
  %alive = icmp slt i32 %answer, 0
  br i1 %alive, label %call, label %closed
closed:
  ret i32 %answer
call:
  %result = call i32 inttoptr (i64 {address} to ptr)({arguments})
  ret i32 %result
}}"""
