"""Calls of device functions, replaced by the function's body.

Parameters and return values of a call live in param space; here they become registers (simt/ir/passing.py). A call
of a function without a body stays in the code when the runtime supplies it (simt/isa/calls.py). A call through a pointer
becomes a chain of comparisons with the functions that it may mean. Recursion does not end and is refused.
"""
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from simt.ir import functions
from simt.ir.passing import Passing, base_name, is_param_access
from simt.isa.table import Unsupported
from simt.ptx.statements import Function, Imm, Instruction, Label, Module, Operand, Reg, Symbol, Vector

SUPPLIED = frozenset({"vprintf", "__assertfail", "malloc", "free", "cudaCGGetIntrinsicHandle", "cudaCGSynchronize"})
DEPTH_LIMIT = 64
Body = list[Instruction | Label]


def inline_calls(module: Module, kernel: Function) -> Function:
    """The kernel with every call of a known function replaced. Raises Unsupported for recursive and unknown ones."""
    if len(module.functions) == 1:
        return kernel
    return _Inliner(module, kernel).run()


class _Inliner:
    def __init__(self, module: Module, kernel: Function):
        self.module, self.kernel = module, kernel
        self.registers = dict(kernel.registers)
        self.variables = list(kernel.variables)
        self.serial = 0
        self.addresses = functions.addresses(module)
        self.passing = Passing(self.registers)

    @functools.cached_property
    def pointed_to(self) -> set[str]:
        return functions.taken(self.module)

    def run(self) -> Function:
        locals_ = {v.name for v in self.kernel.variables if v.space == "param"}
        body = list(self.expand(list(self.kernel.body or ()), locals_, ()))
        return dataclasses.replace(self.kernel, body=tuple(body), registers=self.registers, variables=tuple(self.variables))

    def expand(self, body: Body, places: set[str], stack: tuple[str, ...]) -> Iterator[Instruction | Label]:
        """``places``: param variables that hold arguments and results, not the kernel's own parameters."""
        for statement in body:
            if isinstance(statement, Label):
                yield statement
            elif statement.opcode.split(".")[0] == "call":
                yield from self.call(statement, places, stack)
            elif is_param_access(statement) and base_name(statement) in places:
                yield from self.passing.moves(statement)
            else:
                yield self.with_addresses(statement)

    def with_addresses(self, statement: Instruction) -> Instruction:
        """Names of functions become their addresses."""
        known = self.addresses
        if not any(isinstance(operand, Symbol) and operand.name in known for operand in statement.operands):
            return statement
        return dataclasses.replace(statement, operands=tuple(
            Imm(known[o.name]) if isinstance(o, Symbol) and o.name in known else o for o in statement.operands))

    def call(self, statement: Instruction, places: set[str], stack: tuple[str, ...]) -> Iterator[Instruction | Label]:
        returns, target, arguments = statement.operands[:3]
        if statement.guard is not None:
            yield from self.guarded(statement, places, stack)
            return
        if not isinstance(target, Symbol):
            yield from self.indirect(statement, places, stack)
            return
        function = self.module.functions.get(target.name)
        if function is None or function.body is None:
            if target.name not in SUPPLIED:
                raise Unsupported(f"a call of {target.name}, which no loaded module defines", statement.line)
            yield from self.supplied(statement, target.name, returns, arguments)
            return
        if target.name in stack or len(stack) >= DEPTH_LIMIT:
            raise Unsupported(f"the recursive function {target.name}; write it as a loop", statement.line)
        yield from self.body_of(function, statement, returns, arguments, (*stack, target.name))

    def guarded(self, statement: Instruction, places: set[str], stack: tuple[str, ...]) -> Iterator[Instruction | Label]:
        """``@p call`` becomes a branch around the call."""
        self.serial += 1
        after = f"after_call.{self.serial}"
        yield dataclasses.replace(statement, opcode="bra", operands=(Symbol(after),), negated=not statement.negated)
        yield from self.call(dataclasses.replace(statement, guard=None, negated=False), places, stack)
        yield Label(after, statement.line)

    def indirect(self, statement: Instruction, places: set[str], stack: tuple[str, ...]) -> Iterator[Instruction | Label]:
        """A call through a pointer: compare it with each function of this signature; the launch fails for any other value."""
        returns, target, arguments = statement.operands[:3]
        self.serial += 1
        after = f"after_call.{self.serial}"
        for name in self.candidates(returns, arguments):
            self.serial += 1
            other, differs = f"other_function.{self.serial}", f"%differs{self.serial}"
            self.registers[differs] = "pred"
            yield dataclasses.replace(statement, opcode="setp.ne.u64",
                                      operands=(Reg(differs), target, Imm(self.addresses[name])))
            yield dataclasses.replace(statement, opcode="bra", operands=(Symbol(other),), guard=differs)
            yield from self.call(dataclasses.replace(statement, operands=(returns, Symbol(name), arguments)), places, stack)
            yield dataclasses.replace(statement, opcode="bra", operands=(Symbol(after),))
            yield Label(other, statement.line)
        yield dataclasses.replace(statement, opcode="call.no_function", operands=())
        yield Label(after, statement.line)

    def candidates(self, returns: Vector, arguments: Vector) -> list[str]:
        """Functions whose address is taken and whose results and parameters have the sizes of the call's."""
        signature = [[self.bytes_of(item.name) for item in side.items] for side in (returns, arguments)]
        found = [self.module.functions[name] for name in self.addresses if name in self.pointed_to]
        return [f.name for f in found if signature == [[v.size_bytes for v in side] for side in (f.returns, f.params)]]

    def body_of(self, function: Function, statement: Instruction, returns: Vector, arguments: Vector,
                stack: tuple[str, ...]) -> Iterator[Instruction | Label]:
        self.serial += 1
        renamer = _Renamer(self, function, self.serial, statement)
        given = [*zip(function.params, arguments.items, strict=True)]
        given += zip(function.returns, returns.items, strict=False)     # numba expects a result of void functions too
        renamer.places.update({parameter.name: operand.name for parameter, operand in given})
        places = set(renamer.places.values())
        places |= {renamer.names[v.name] for v in function.variables if v.space == "param"}
        yield from self.expand(renamer.body(), places, stack)
        yield Label(renamer.end, statement.line)

    def supplied(self, statement: Instruction, name: str, returns: Vector, arguments: Vector) -> Iterator[Instruction]:
        """A call that the runtime answers: its operands become the registers of results and arguments."""
        values = [Reg(self.passing.store(item.name, 0, self.width(item.name))) for item in returns.items]
        for item in arguments.items:
            value = self.passing.fresh(self.width(item.name))
            yield from self.passing.load(statement, item.name, 0, f"b{self.width(item.name)}", value)
            values.append(value)
        yield dataclasses.replace(statement, opcode=f"call.{name}", operands=tuple(values))

    def width(self, variable: str) -> int:
        return 8 * self.bytes_of(variable)

    def bytes_of(self, variable: str) -> int:
        """Size of an argument or a result."""
        return next(v for v in self.variables if v.name == variable).size_bytes


class _Renamer:
    """The body of one call with its own registers, labels and local variables."""

    def __init__(self, inliner: _Inliner, function: Function, serial: int, call: Instruction):
        self.function, self.serial, self.call = function, serial, call
        self.end = f"return.{serial}"
        self.places: dict[str, str] = {}        # the function's parameters -> the call's variables
        self.names: dict[str, str] = {}
        self.labels = {s.name: f"{s.name}.{serial}" for s in function.body if isinstance(s, Label)}
        inliner.registers |= {self.register(name): ptx_type for name, ptx_type in function.registers.items()}
        for variable in function.variables:
            self.names[variable.name] = variable.name if variable.space == "shared" else f"{variable.name}.{serial}"
            inliner.variables.append(dataclasses.replace(variable, name=self.names[variable.name]))

    def register(self, name: str) -> str:
        """``%rd`` of the function -> ``%c3_rd``."""
        return f"%c{self.serial}_{name[1:]}"

    def body(self) -> Body:
        found: Body = []
        for statement in self.function.body:
            if isinstance(statement, Label):
                found.append(Label(self.labels[statement.name], statement.line))
                continue
            source = statement.source or self.call.source
            chain = statement.inlined + ((self.call.source,) if self.call.source else ()) + self.call.inlined
            operands = tuple(self.operand(operand) for operand in statement.operands)
            guard = self.name(statement.guard) if statement.guard else None
            opcode = statement.opcode
            if opcode.split(".")[0] == "ret":
                opcode, operands = "bra", (Symbol(self.end),)
            found.append(dataclasses.replace(statement, opcode=opcode, operands=operands, guard=guard, source=source,
                                             inlined=chain))
        return found

    def name(self, name: str) -> str:
        known = name in self.function.registers or name.rstrip("0123456789") in self.function.registers
        return self.register(name) if known else name

    def operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Reg):
            return Reg(self.name(operand.name))
        if isinstance(operand, Symbol):
            for table in (self.labels, self.places, self.names):
                if operand.name in table:
                    return Symbol(table[operand.name], operand.offset)
            return operand
        if dataclasses.is_dataclass(operand) and not hasattr(operand, "bits"):
            changes = {}
            for field in dataclasses.fields(operand):
                value = getattr(operand, field.name)
                if isinstance(value, tuple):
                    changes[field.name] = tuple(self.operand(item) for item in value)
                elif dataclasses.is_dataclass(value):
                    changes[field.name] = self.operand(value)
            return dataclasses.replace(operand, **changes)
        return operand
