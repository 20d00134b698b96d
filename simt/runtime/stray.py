"""An access that failed, told as a lesson: which array, which index, how far off, and what is probably wrong."""
from __future__ import annotations

import dataclasses

from simt.ir.origins import origins
from simt.ptx.statements import Symbol
from simt.runtime.arguments import ArrayArgument, argument_name, argument_names, arrays
from simt.runtime.memory import Allocation
from simt.runtime.names import AXES, counted, kernel_name
from simt.runtime.places import calls_of, place_in_grid, thread_of, where

ILLEGAL_ADDRESS, MISALIGNED_ADDRESS = 700, 716
NEAR_BYTES = 64 << 20       # without a better clue, a stray index is seldom wilder than that
VERBS = {"load": "read", "store": "write", "atomic": "atomic update"}


def explain_address(run, worker, site, code: int) -> list[str]:
    """The lines of the lesson; the first stands alone."""
    address, lane = worker.field("fault_address") & (1 << 64) - 1, worker.field("fault_lane")
    if code == MISALIGNED_ADDRESS:
        problem, lines = "misaligned", misaligned(run, worker, site, address)
    elif protected := written_though_read_only(run, site, address):
        problem, lines = "to read-only memory", read_only(protected)
    elif window := window_of(run, worker, site):
        problem, lines = "out of bounds", window.explain(worker, site, address)
    else:
        problem, lines = "out of bounds", explain_global(run, worker, site, address)
    return [f"kernel {kernel_name(run.name)}: {VERBS[site.action]} {problem}", f"at {where(site.node)}", *calls_of(site.node),
            f"by {thread_of(run, worker, lane)}", *lines]


def misaligned(run, worker, site, address: int) -> list[str]:
    array = target(run, worker, site, address)[0] if site.space == "global" else None
    into = [] if array is None else [f"it begins {address - array.address} bytes into {array.name}, which itself begins at "
                                     f"address % {site.bytes} == {array.address % site.bytes}"]
    return [f"{site.bytes}-byte access at address % {site.bytes} == {address % site.bytes}; it must be 0", *into,
            "what to do: start vector accesses at a multiple of their size, or load element by element"]


# -- read-only memory


def written_though_read_only(run, site, address: int) -> Allocation | None:
    """The read-only range that a store or an atomic would have changed."""
    found = run.launcher.memory.find(address) if site.action != "load" else None
    return found if found and found.read_only and address + site.bytes <= found.end else None


def read_only(protected: Allocation) -> list[str]:
    what = "constant memory" if protected.kind == "constant" else "host memory that is registered for reading only"
    return [f"the address lies in {protected.size} bytes of {what}",
            "what to do: kernels only read it; write to a device array"]


# -- shared and local memory


class Window:
    """Memory of a block ("shared") or of a thread ("local"), addressed from 0.

    name: the variable that the address is based on, where that is known
    """

    def __init__(self, run, space: str, name: str | None):
        self.run, self.space, self.name = run, space, name

    def explain(self, worker, site, address: int) -> list[str]:
        base = 0
        if site.space == "generic":
            base = worker.field(f"{self.space}_base")
        offset = address - base
        offset -= (1 << 64) if offset >> 63 else 0
        size = worker.field(f"{self.space}_bytes")
        lines = [f"byte offset {offset} of {size} bytes of {self.space} memory; {site.bytes} bytes asked for"]
        variable, at = self.variable(worker)
        if variable is not None:
            lines += self.element(worker, site, offset - at, variable)
        return [*lines, f"what to do: compare the index with the {self.space} array's extent, and check whether it uses the "
                "thread's place in the block or in the grid"]

    def variable(self, worker):
        """(declaration, offset) of the variable, by its name or because it is the only one."""
        places = getattr(worker.machine.layout, self.space)
        names = [self.name] if self.name in places else list(places)
        function = worker.machine.details.kernel.graph.function
        known = {**self.run.program.module.variables, **{v.name: v for v in function.variables}}
        return (known.get(names[0]), places[names[0]]) if len(names) == 1 else (None, 0)

    def element(self, worker, site, offset: int, variable) -> list[str]:
        size = variable.size_bytes
        told = f"the array has {size // site.bytes}"
        if self.space == "local" and "depot" in variable.name:      # the compiler's frame for all local arrays of the thread
            told += ", if it is the thread's only one"
        elif size == 0:
            size = worker.field("dynamic_shared_bytes")
            told = f"the launch asks for {size} bytes of dynamic shared memory: kernel[grid, block, stream, bytes]"
        return [f"index {offset // site.bytes}, counted in elements of {site.bytes} bytes; {told}"]


def window_of(run, worker, site) -> Window | None:
    """The window that an access is meant for."""
    places = worker.machine.layout
    names = [symbol.name for symbol in origins(worker.machine.details.kernel.values, site.node.operands[0])]
    for space in ("shared", "local"):
        named = [name for name in names if name in getattr(places, space)]
        if site.space == space or site.space == "generic" and len(named) == len(names) == 1:
            return Window(run, space, named[0] if len(named) == 1 else None)
    return None


# -- global and constant memory


def explain_global(run, worker, site, address: int) -> list[str]:
    memory = run.launcher.memory
    freed = memory.freed(address)
    array, variable = target(run, worker, site, address)
    lines = []
    if freed is not None:
        whose = f": {array.name}" if array is not None and not array.distance(address) else ""
        return [f"the address lies in an array of {freed.size} bytes that was freed before the launch{whose}",
                "what to do: keep a device array referenced while kernels use it"]
    if array is not None:
        lines += describe(array, site, address)
    elif variable is not None:
        lines += describe_variable(run, variable, site, address)
    elif pointer := pointer_argument(run, worker, site, address):
        lines.append(pointer)
    else:
        lines += describe_nearest(memory.nearest(address), address)
    return [*lines, "what to do: guard the access" + (advice(run, worker, array, address) if array is not None else "")]


def describe_nearest(near: Allocation | None, address: int) -> list[str]:
    beside = ""
    if near is not None:
        side = "past the end" if address >= near.end else "before the start"
        beside = f"; the nearest allocation has {near.size} bytes, and this is {near.distance(address)} bytes {side} of it"
    return [f"address {address:#x} belongs to no live array{beside}"]


def target(run, worker, site, address: int) -> tuple[ArrayArgument | None, str | None]:
    """(array argument, module variable) that the access was meant for: one of them or none.

    The code says which pointers the address can be an offset from; of these, or of all where it says nothing, the nearest.
    """
    found = kernel_arrays(run, site.node)
    roots = origins(worker.machine.details.kernel.values, site.node.operands[0])
    based = [array for array in found if is_root(run, worker, array, roots)]
    named = [root.name for root in roots if root.name in run.program.globals]
    if len(based) + len(named) == 1:
        return (based[0], None) if based else (None, named[0])
    if not based and not roots:
        based = [array for array in found if array.distance(address) <= max(array.extent_bytes, NEAR_BYTES)]
    params = worker.machine.layout.params
    if not based and any(root.name in params for root in roots):
        return None, None       # a pointer that is no array's
    array = min(based, key=lambda one: one.distance(address), default=None)
    twins = [one.name for one in based if array is not None and one is not array and one.address == array.address]
    if twins:
        array = dataclasses.replace(array, name=f"{array.name} (the same memory as {', '.join(twins)})")
    variable = min(run.program.globals, key=lambda name: away(run, name, address), default=None)
    if variable and away(run, variable, address) <= (array.distance(address) - 1 if array is not None else NEAR_BYTES):
        return None, variable
    return array, None


def is_root(run, worker, array: ArrayArgument, roots: frozenset[Symbol]) -> bool:
    offset = run.program.kernels[run.name].params[array.data_parameter].offset
    params = worker.machine.layout.params
    return any(root.name in params and params[root.name] + root.offset == offset for root in roots)


def away(run, name: str, address: int) -> int:
    """Bytes from a module variable to an address."""
    start, size = run.program.globals[name]
    return max(start - address, address - (start + size) + 1, 0)


def kernel_arrays(run, node) -> list[ArrayArgument]:
    return arrays(*parameters(run, node))


def pointer_argument(run, worker, site, address: int) -> str | None:
    """About the allocation that a pointer argument points into, where the address is an offset from one."""
    values, names = parameters(run, site.node)
    params = worker.machine.layout.params
    offsets = [spec.offset for spec in run.program.kernels[run.name].params]
    roots = [root for root in origins(worker.machine.details.kernel.values, site.node.operands[0]) if root.name in params]
    found = []
    for root in roots:
        at = offsets.index(params[root.name]) if params[root.name] in offsets else None
        allocation = run.launcher.memory.find(values[at]) if at is not None else None
        if allocation is not None:
            found.append((allocation.distance(address), at, allocation))
    if not found:
        return None
    _, at, allocation = min(found, key=lambda one: one[0])
    return (f"byte offset {address - values[at]} from the pointer {argument_name(values, names, at)}, which points to "
            f"{allocation.end - values[at]} bytes")


def parameters(run, node) -> tuple[list[int], tuple[str, ...]]:
    """The kernel's parameters as 64-bit numbers, and the names of its Python arguments."""
    spec = run.program.kernels[run.name]
    values = [int.from_bytes(run.raw[p.offset:p.offset + p.size][:8], "little") for p in spec.params]
    return values, kernel_names(node)


def kernel_names(node) -> tuple[str, ...]:
    """Of the kernel's Python arguments."""
    source = node.inlined[-1] if node.inlined else node.source
    return argument_names(source.file, source.line) if source else ()


def describe(array: ArrayArgument, site, address: int) -> list[str]:
    """Index, shape and distance."""
    index, name = array.index(address), array.name
    axis = array.slowest_axis
    shape = "(" + ", ".join(str(n) for n in array.shape) + ("," if len(array.shape) == 1 else "") + ")"
    line = f"{name}[{', '.join(str(i) for i in index)}], but {name} has shape {shape}"
    if index[axis] < 0:
        line += f": index {index[axis]} is before its start"
    elif 0 in array.shape:
        line += ": it has no elements"
    elif len(array.shape) == 1:
        line += f": the last index is {array.shape[0] - 1}"
    else:
        line += f": the last index of axis {axis} is {array.shape[axis] - 1}"
    past = address + site.bytes - array.address - array.extent_bytes
    side = f"{past} bytes past the end" if past > 0 else f"{array.address - address} bytes before the start"
    lines = [line, f"{side} of the {array.extent_bytes} bytes of {name}"]
    if len(array.shape) > 1 and index[axis] in (-1, array.shape[axis]):
        lines.append(other_reading(array, index, axis))
    return lines


def other_reading(array: ArrayArgument, index: tuple[int, ...], axis: int) -> str:
    """An address has one reading per axis that may be out of range: the index shown blames the slowest."""
    next_axis = min((k for k in range(len(array.shape)) if k != axis), key=lambda k: -array.strides[k])
    step = 1 if index[axis] > 0 else -1
    other = list(index)
    other[axis] -= step
    other[next_axis] += step * (array.strides[axis] // max(array.strides[next_axis], 1))
    told = ", ".join(str(i) for i in other)
    return f"{array.name}[{told}] would lie there too, if it is axis {next_axis} that is out of range"


def describe_variable(run, name: str, site, address: int) -> list[str]:
    start, size = run.program.globals[name]
    space = run.program.module.variables[name].space
    index, count = (address - start) // site.bytes, size // site.bytes
    what = "constant array" if space == "const" else f"module variable {name}"
    return [f"index {index} of a {what} of {count} elements of {site.bytes} bytes"
            + (f": the last index is {count - 1}" if index >= count else ": it is before its start")]


def advice(run, worker, array: ArrayArgument, address: int) -> str:
    """What the numbers say about the mistake, to follow "guard the access"."""
    axis, index = array.slowest_axis, array.index(address)
    i, n = index[axis], array.shape[axis]
    place = place_in_grid(run, worker, worker.field("fault_lane"))
    threads = [g * b for g, b in zip(run.grid, run.block, strict=True)]
    own = next((k for k in range(3) if place[k] == i), None)
    element = array.unit(axis)
    if i < 0:
        where_to = "" if len(array.shape) == 1 else f" on axis {axis}"
        return (f". Indices from -1 to -{n} count from the end, once; what the kernel asked for{where_to}, if its index is "
                f"signed, is {i - n}")
    if i == n and own is not None:
        return (f". Off by one {element}: this thread's {AXES[own]} in the grid equals the extent {n}, and the launch has "
                f"{counted(threads[own], 'thread')} on {AXES[own]}. A guard is missing, or says <= where < is meant")
    if i == n:
        return f". Off by one {element}: the kernel asks for the {element} after the last one"
    if own is not None:
        have = f"the launch has {counted(threads[own], 'thread')} on {AXES[own]} for {counted(n, element)}"
        return (f": {have}; the ones beyond need "
                f"`if {AXES[own]} < {array.name}.shape[{axis}]`")
    return (", or launch threads for the array's shape only; the index is not this thread's place in the grid, so see how it "
            "is made")
