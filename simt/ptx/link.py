"""Several PTX modules in one text become one: what a device linker does with their names."""
from __future__ import annotations

import dataclasses

from simt.ptx.lexer import PtxError
from simt.ptx.statements import (
    Address,
    Function,
    Instruction,
    Label,
    Module,
    Operand,
    Symbol,
    Variable,
    Vector,
)

_YIELDING = frozenset({"weak", "common"})


@dataclasses.dataclass(slots=True)
class Section:
    """One module of the text. ``linkage`` maps each name to "visible", "weak", "common", "extern" or "private"."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    files: dict[int, str] = dataclasses.field(default_factory=dict)
    symbols: dict[str, Variable | Function] = dataclasses.field(default_factory=dict)
    linkage: dict[str, str] = dataclasses.field(default_factory=dict)

    def define(self, symbol: Variable | Function, linkage: str, line: int) -> None:
        """Adds a symbol. A definition beats a declaration, a strong definition beats a weak or common one."""
        name = symbol.name
        old = self.symbols.get(name)
        if old is None or self._replaces(symbol, linkage, old, line):
            self.symbols[name] = symbol
            self.linkage[name] = linkage

    def _replaces(self, new: Variable | Function, linkage: str, old: Variable | Function, line: int) -> bool:
        if isinstance(new, Function) is not isinstance(old, Function):
            raise PtxError("name of a function and of a variable", line, new.name)
        if _is_declaration(new):
            return False
        if _is_declaration(old):
            return True
        if linkage in _YIELDING:
            return False
        if self.linkage[new.name] in _YIELDING:
            return True
        raise PtxError("defined twice", line, new.name)


def merge(sections: list[Section]) -> Module:
    """Links the sections. Names private to their module are kept apart by a suffix: ``table@2``."""
    linked = Section(sections[0].version, sections[0].target)
    for number, section in enumerate(sections, 1):
        _rename_private(section, linked, number)
        for name, symbol in section.symbols.items():
            line = symbol.line if isinstance(symbol, Function) else 0
            linked.define(symbol, section.linkage[name], line)
        _add_files(linked.files, section.files)
    return Module(
        version=max(section.version for section in sections),
        target=linked.target,
        variables={name: found for name, found in linked.symbols.items() if isinstance(found, Variable)},
        functions={name: found for name, found in linked.symbols.items() if isinstance(found, Function)},
        files=linked.files,
    )


def _is_declaration(symbol: Variable | Function) -> bool:
    return symbol.body is None if isinstance(symbol, Function) else symbol.extern


def _add_files(files: dict[int, str], more: dict[int, str]) -> None:
    """Adds the paths of a later module; its numbers are taken, so new paths get the next free ones."""
    known = set(files.values())
    for index, path in more.items():
        if path not in known:
            known.add(path)
            files[index if index not in files else max(files) + 1] = path


def _rename_private(section: Section, linked: Section, number: int) -> None:
    """Renames in both modules the private names that mean something else in the other one."""
    shared = section.symbols.keys() & linked.symbols.keys()
    _rename(section, {name: f"{name}@{number}" for name in shared if section.linkage[name] == "private"})
    _rename(linked, {name: f"{name}@1" for name in shared
                     if linked.linkage[name] == "private" and section.linkage.get(name, "private") != "private"})


def _rename(section: Section, renamed: dict[str, str]) -> None:
    if not renamed:
        return
    section.linkage = {renamed.get(name, name): linkage for name, linkage in section.linkage.items()}
    section.symbols = {renamed.get(name, name): _renamed_symbol(symbol, renamed)
                       for name, symbol in section.symbols.items()}


def _renamed_symbol(symbol: Variable | Function, renamed: dict[str, str]) -> Variable | Function:
    name = renamed.get(symbol.name, symbol.name)
    if isinstance(symbol, Variable):
        initial = symbol.initial and tuple(_renamed_operand(value, renamed) for value in symbol.initial)
        return dataclasses.replace(symbol, name=name, initial=initial)
    if symbol.body is None:
        return dataclasses.replace(symbol, name=name)
    own = {variable.name for variable in (*symbol.params, *symbol.returns, *symbol.variables)}
    own |= {statement.name for statement in symbol.body if isinstance(statement, Label)}
    visible = {old: new for old, new in renamed.items() if old not in own}
    return dataclasses.replace(symbol, name=name, body=tuple(_renamed_statement(item, visible) for item in symbol.body))


def _renamed_statement(statement: Instruction | Label, renamed: dict[str, str]) -> Instruction | Label:
    if isinstance(statement, Label):
        return statement
    return dataclasses.replace(
        statement, operands=tuple(_renamed_operand(operand, renamed) for operand in statement.operands))


def _renamed_operand(operand: Operand, renamed: dict[str, str]) -> Operand:
    if isinstance(operand, Symbol):
        return Symbol(renamed.get(operand.name, operand.name), operand.offset)
    if isinstance(operand, Address):
        return Address(_renamed_operand(operand.base, renamed), operand.offset)
    if isinstance(operand, Vector):
        return Vector(tuple(_renamed_operand(item, renamed) for item in operand.items))
    return operand
