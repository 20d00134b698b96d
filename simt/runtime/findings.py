"""What checkers saw, in words: who did what to which element on which line, and the fix that usually applies."""
from __future__ import annotations

import ast

from simt.ir.shapes import WARP
from simt.observe.checker import Actor, Hazard
from simt.observe.profile import Finding
from simt.runtime.arguments import argument_names, source_line
from simt.runtime.names import counted, function_name, lanes_of
from simt.runtime.places import in_program, thread_at, told, where
from simt.runtime.stray import kernel_arrays

BARRIER = "put cuda.syncthreads() between the two lines, where every thread of the block passes"
WARP_BARRIER = "put cuda.syncthreads(), or as both are of one warp cuda.syncwarp(), between the two lines: a warp does not " \
    "run in lock step"
ALIASED = "every shared array of shape 0 begins at the same byte: take one, and cut it into slices that do not overlap"
ONE_WRITER = "let one thread write, or use cuda.atomic"
SAME_LINE = "put cuda.syncthreads(), or within one warp cuda.syncwarp(), behind the line, between rounds of its loop; if one " \
    "thread reads there what another writes, read first, then a barrier, then write"
SAME_LINE_OF_WARP = "if one thread reads there what another writes, read first, then cuda.syncwarp(), then write; " \
    "cuda.syncthreads() does that too, but only where every thread of the block passes"
BLOCKS = "blocks of one launch are not ordered: use a second launch, a cooperative grid with grid.sync(), or cuda.atomic"
UNWRITTEN = {
    "shared": "shared memory is not zero at the start: write each element that is read, then cuda.syncthreads()",
    "local": "local memory is not zero at the start: write each element before it is read",
    "global": "cuda.device_array is not zero: fill it first, or use cuda.to_device(np.zeros(...))",
}
EVERY_THREAD = "let every thread of the block come to the barrier: no return before it, and no condition around it; put the " \
    "condition around the work"
SYNC = {
    "ended": ("some threads of the block end without coming to this barrier: {lanes} of warp {warp}", EVERY_THREAD),
    "ended warps": ("{count} of the block {end} without coming to this barrier", EVERY_THREAD),
    "apart": ("threads of one warp come to this barrier apart: {lanes} of warp {warp} came by another way than the rest",
              "move the barrier out of the branch or loop that only some threads take"),
    "idle source": ("{lanes} of warp {warp} take a value from a lane that does not take part, which is undefined",
                    "let every lane that is read execute the shuffle, or read only lanes that do"),
}


def tell(run, worker, hazards: list[Hazard]) -> list[Finding]:
    """Findings in the order of their places. A pair of lines is told once, however many instructions it has."""
    found: dict[tuple, Finding] = {}
    for hazard in sorted(hazards, key=lambda hazard: -hazard.apart):       # of threads further apart: the stronger case
        finding = _Telling(run, worker, hazard).finding()
        key = (finding.kind, finding.note, finding.places, hazard.space, hazard.what if finding.kind == "sync" else "")
        if key not in found:
            found[key] = finding
    racing = {place for finding in found.values() if finding.kind == "race" and not finding.note for place in finding.places}
    told = [finding for finding in found.values() if not finding.note or not racing.issuperset(finding.places)]
    return sorted(told, key=lambda finding: (finding.note, finding.places, finding.kind))


class _Telling:
    def __init__(self, run, worker, hazard: Hazard):
        self.run, self.worker, self.hazard = run, worker, hazard
        self.sites = worker.machine.details.sites

    def finding(self) -> Finding:
        tell_it = {"race": self.race, "alias": self.alias, "init": self.initialisation, "sync": self.synchronisation}
        text, advice = tell_it[self.hazard.kind]()
        return Finding(self.hazard.kind, self.is_note, text, advice, self.places(), self.hazard.count)

    def places(self) -> tuple[tuple[str, int], ...]:
        """(file, line) of each thread, each once."""
        return tuple(sorted({(place.file, place.line) for node in self.nodes() if (place := in_program(node)) is not None}))

    @property
    def is_note(self) -> bool:
        return self.hazard.what == "equal values"

    def nodes(self) -> list:
        if self.hazard.node is not None:
            return [self.hazard.node]
        return [self.sites[actor.site].node for actor in self.hazard.actors]

    # -- races

    def race(self) -> tuple[str, str]:
        first, second = sorted(self.hazard.actors, key=lambda actor: (actor.action == "read", actor.site))
        if self.is_note:
            text = f"{self.thread(first)} and {self.thread(second)} write the same value to {self.memory(first)} " \
                f"at {self.line(first)}" + ("" if first.site == second.site else f" and at {self.line(second)}")
            return text, "harmless while the values are equal: let one thread write if that is not certain"
        one, other = self.thread(first), self.thread(second)
        if first.site == second.site:
            text = f"{one} and {other} both {self.verb(first)} {self.memory(first)} at {self.line(first)}"
        else:
            text = f"{one} {self.verb(first)}s {self.memory(first)} at {self.line(first)}, and {other} " \
                f"{self.verb(second)}s it at {self.line(second)}"
        text += ": nothing says which comes first"
        if self.hazard.apart == 2:
            return text, BLOCKS
        if first.site != second.site and len(self.places()) == 1:
            return text, SAME_LINE if self.hazard.apart else SAME_LINE_OF_WARP
        if first.action == second.action == "write":
            return text, f"{ONE_WRITER}; or, if it is two steps, {BARRIER}" if first.site != second.site else ONE_WRITER
        return text, BARRIER if self.hazard.apart else WARP_BARRIER

    def alias(self) -> tuple[str, str]:
        first, second = self.hazard.actors
        return f"{self.line(first)} writes byte {self.hazard.address} of shared memory through one array, and " \
            f"{self.line(second)} {self.verb(second)}s the same byte through another", ALIASED

    @staticmethod
    def verb(actor: Actor) -> str:
        return {"atomic": "update"}.get(actor.action, actor.action)

    # -- reads of what nobody wrote

    def initialisation(self) -> tuple[str, str]:
        actor = self.hazard.actors[0]
        return f"{self.thread(actor)} reads {self.memory(actor)} at {self.line(actor)}, and nobody has written it", \
            UNWRITTEN[self.hazard.space]

    # -- barriers and shuffles

    def synchronisation(self) -> tuple[str, str]:
        actor, node = self.hazard.actors[0], self.hazard.node
        told, advice = SYNC[self.hazard.what]
        lanes = self.hazard.lanes       # for "ended warps", a number of warps
        happened = told.format(lanes=lanes_of(lanes), warp=actor.thread // WARP, count=counted(lanes, "whole warp"),
                               end="ends" if lanes == 1 else "end")
        return f"{function_name(node.opcode)} at {self.line_of(node)}, block {self.block(actor)}: {happened}", advice

    # -- words

    def block(self, actor: Actor) -> tuple[int, ...]:
        x, y, _ = self.run.grid
        return actor.block % x, actor.block // x % y, actor.block // (x * y)

    def thread(self, actor: Actor) -> str:
        place = f"thread {thread_at(self.run, actor.thread)}"
        others = {other.block for other in self.hazard.actors}
        return place if len(others) == 1 and self.run.blocks == 1 else f"{place} of block {self.block(actor)}"

    def line(self, actor: Actor) -> str:
        return self.line_of(self.sites[actor.site].node)

    @staticmethod
    def line_of(node) -> str:
        place = in_program(node)
        return where(node) if place is None else told(place)

    def memory(self, actor: Actor) -> str:
        """The array and element."""
        site, address = self.sites[actor.site], self.hazard.address
        if self.hazard.space == "global":
            return self.element_of_argument(site, address)
        variable, start = self.variable(self.hazard.space, address)
        element = (address - start) // site.element_bytes
        name = subscripted(site.node.source, actor.action) or f"a {self.hazard.space} array"
        place = f"element {element} of {site.element_bytes} bytes" if variable else f"byte {address} of the space"
        return f"{name}[…], {place},"

    def element_of_argument(self, site, address: int) -> str:
        for array in kernel_arrays(self.run, site.node):
            if not array.distance(address):
                return f"{array.name}[{', '.join(str(i) for i in array.index(address))}]"
        return f"global memory at {address:#x}"

    def variable(self, space: str, address: int) -> tuple[str | None, int]:
        """(name, offset) of the variable of that space that holds an address."""
        places = getattr(self.worker.machine.layout, space)
        below = [(start, name) for name, start in places.items() if start <= address]
        start, name = max(below, default=(0, None))
        return name, start


def subscripted(source, action: str) -> str:
    """The name of the array that a line of Python reads or writes by an index, where it can be only one."""
    if source is None:
        return ""
    text = source_line(source.file, source.line).rstrip(":")
    try:
        tree = ast.parse(text.removeprefix("el") + (":\n pass" if text.startswith(("if ", "elif ", "while ", "for ")) else ""))
    except SyntaxError:
        return ""
    wanted = ast.Load if action == "read" else ast.Store
    names = {node.value.id for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
             and (isinstance(node.ctx, wanted) or is_augmented(tree, node))}
    names -= set(argument_names(source.file, source.line))
    return names.pop() if len(names) == 1 else ""


def is_augmented(tree: ast.AST, target: ast.Subscript) -> bool:
    """``x[i] += …`` reads its target too."""
    return any(isinstance(node, ast.AugAssign) and node.target is target for node in ast.walk(tree))
