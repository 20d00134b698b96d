"""Statements of one function body: instructions, labels, source lines, nested scopes."""
from __future__ import annotations

import dataclasses
import re

from simt.ptx import declarations
from simt.ptx.lexer import DEBUG_SECTION, NAME, PRAGMA, PtxError, Text
from simt.ptx.scopes import Names, Scope
from simt.ptx.statements import Instruction, Label, Operand, Prototype, Reg, SourceLine, Symbol, Variable, Vector

_STATEMENT = re.compile(
    rf"""\s*+(?:
      (?P<label>{NAME})\s*:(?!:)
    | (?P<loc>\.loc\s+(\d+)\s+(\d+)\s+(\d+)
        (?:\s*,\s*function_name\s+{NAME}(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?(?=\s))
    | (?P<instruction>(?:@\s*(?P<negated>!?)\s*(?P<guard>{NAME})\s+)?
        (?P<opcode>[a-z][\w.]*+(?:::[\w.]+)*)(?P<operands>(?:[\s{{(\[][^;]*)?);)
    | (?P<directive>\.\w+)
    | (?P<open>\{{)
    | (?P<close>\}})
    )""", re.VERBOSE | re.ASCII
)
_LOC_GROUP = _STATEMENT.groupindex["loc"]
_CALL = re.compile(
    rf"\s*(?:\(([^()]*)\)\s*,\s*)?({NAME})\s*(?:,\s*\(([^()]*)\)\s*)?(?:,\s*({NAME})\s*)?$", re.ASCII
)
_REGISTERS = re.compile(r"\s*\.reg\s*\.(\w+)\s+([^;]*);", re.ASCII)
_REGISTER = re.compile(rf"\s*({NAME})\s*(?:<\s*(\d{{1,9}})\s*>)?\s*$", re.ASCII)
_PROTOTYPE = re.compile(
    rf"\s*\.callprototype\s*(?:\(([^()]*)\)\s*)?{NAME}\s*(?:\(([^()]*)\)\s*)?(?:\.noreturn\s*)?;", re.ASCII
)
_BRANCH_TARGETS = re.compile(rf"\s*\.branchtargets\s+({NAME}\s*(?:,\s*{NAME}\s*)*);", re.ASCII)


class Body:
    """Parses ``{ … }``. After ``parse`` the attributes without underscore hold the result."""

    def __init__(self, text: Text, files: dict[int, str], params: tuple[Variable, ...]) -> None:
        self.names = Names()
        self.statements: list[Instruction | Label] = []
        self.prototypes: dict[str, Prototype] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self._text = text
        self._files = files
        self._scope = Scope(self.names, None, 0)
        for param in params:
            self.names.variables[param.name] = param
        self._params = frozenset(self.names.variables)
        self._source: SourceLine | None = None
        self._inlined: tuple[SourceLine, ...] = ()
        self._chains: dict[tuple[str, str, str], tuple[SourceLine, ...]] = {}
        self._handlers = {"label": self._label, "loc": self._loc, "instruction": self._instruction,
                          "directive": self._directive, "open": self._open, "close": self._close}
        self._directives = {".reg": self._registers, ".pragma": self._pragma, ".section": self._section,
                            ".callprototype": self._prototype, ".branchtargets": self._targets,
                            ".param": self._variable, ".local": self._variable, ".shared": self._variable,
                            ".const": self._variable, ".global": self._variable}

    def parse(self, position: int) -> int:
        """Parses the body that follows its opening brace; returns the position after the closing one."""
        match_statement, source = _STATEMENT.match, self._text.text
        handlers = self._handlers
        while self._scope is not None:
            match = match_statement(source, position)
            if match is None:
                raise self._text.error("not a statement this parser knows", position)
            position = handlers[match.lastgroup](match)
        self._check_branch_targets(position)
        return position

    def variables(self) -> tuple[Variable, ...]:
        """Variables declared inside the body."""
        return tuple(found for name, found in self.names.variables.items() if name not in self._params)

    def _line(self, match: re.Match[str]) -> int:
        return self._text.line(match.start(match.lastgroup))

    def _instruction(self, match: re.Match[str]) -> int:
        opcode, operands, line = match["opcode"], match["operands"], self._line(match)
        if opcode.startswith("call"):
            found = self._call(operands, line)
        else:
            found = self._scope.operands(operands, line)
        guard = match["guard"]
        if guard is not None:
            guard = self._scope.register(guard, line).name
        self.statements.append(
            Instruction(opcode, found, guard, match["negated"] == "!", line, self._source, self._inlined))
        return match.end()

    def _call(self, text: str, line: int) -> tuple[Operand, ...]:
        match = _CALL.match(text)
        if match is None:
            raise PtxError("not a call this parser knows", line, text)
        callee = self._scope.operand(match[2], line)
        if not isinstance(callee, Reg | Symbol):
            raise PtxError("not something to call", line, match[2])
        call = (Vector(self._scope.operands(match[1] or "", line)), callee,
                Vector(self._scope.operands(match[3] or "", line)))
        return call if match[4] is None else (*call, Symbol(match[4]))

    def _label(self, match: re.Match[str]) -> int:
        name = match["label"]
        if name in self._scope.labels:
            raise self._text.error("label defined twice", match.start("label"))
        self._scope.labels.add(name)
        self.statements.append(Label(name, self._line(match)))
        return match.end()

    def _loc(self, match: re.Match[str]) -> int:
        file, line, column, file_at, line_at, column_at = (match[_LOC_GROUP + index] for index in range(1, 7))
        if int(line):
            chain: tuple[SourceLine, ...] = ()
            if file_at is not None:
                outer = self._chains.get((file_at, line_at, column_at), ())
                chain = (self._source_line(file_at, line_at, match), *outer)
            self._chains[file, line, column] = chain
            self._source, self._inlined = self._source_line(file, line, match), chain
        return match.end()

    def _source_line(self, file: str, line: str, match: re.Match[str]) -> SourceLine:
        path = self._files.get(int(file)) if len(file) <= 9 else None
        if path is None or len(line) > 9:
            raise self._text.error(f"no .file {file} in this module", match.start("loc"))
        return SourceLine(path, int(line))

    def _open(self, match: re.Match[str]) -> int:
        self._scope = Scope(self.names, self._scope, len(self.statements))
        return match.end()

    def _close(self, match: re.Match[str]) -> int:
        scope = self._scope
        if scope.parent is not None and scope.labels:
            self._rename_labels(scope)
        self._scope = scope.parent
        return match.end()

    def _rename_labels(self, scope: Scope) -> None:
        """Makes the labels of a nested scope unique: an inline-PTX loop may be pasted more than once."""
        renamed = {name: name + scope.suffix for name in scope.labels}
        for index in range(scope.begin, len(self.statements)):
            statement = self.statements[index]
            if isinstance(statement, Label):
                changes = {"name": renamed.get(statement.name, statement.name)}
            else:
                changes = {"operands": tuple(Symbol(renamed[operand.name], operand.offset)
                                             if isinstance(operand, Symbol) and operand.name in renamed else operand
                                             for operand in statement.operands)}
            self.statements[index] = dataclasses.replace(statement, **changes)
        for table in (self.prototypes, self.branch_targets):
            for name in scope.labels & table.keys():
                table[renamed[name]] = table.pop(name)
        for name, targets in self.branch_targets.items():
            self.branch_targets[name] = tuple(renamed.get(target, target) for target in targets)

    def _directive(self, match: re.Match[str]) -> int:
        position = match.start("directive")
        handler = self._directives.get(match["directive"])
        if handler is None:
            raise self._text.error("not a directive this parser knows", position)
        return handler(position)

    def _match(self, pattern: re.Pattern[str], position: int) -> re.Match[str]:
        match = pattern.match(self._text.text, position)
        if match is None:
            raise self._text.error("not a directive this parser knows", position)
        return match

    def _registers(self, position: int) -> int:
        match = self._match(_REGISTERS, position)
        line = self._text.line(position)
        ptx_type = declarations.check_type(match[1], line)
        for item in match[2].split(","):
            register = _REGISTER.match(item)
            if register is None:
                raise PtxError("not a register name", line, item)
            count = None if register[2] is None else int(register[2])
            self._scope.declare_register(register[1], count, ptx_type, line)
        return match.end()

    def _variable(self, position: int) -> int:
        variable, _, end = declarations.variable(self._text, position)
        self._scope.declare_variable(variable, self._text.line(position))
        return end

    def _prototype(self, position: int) -> int:
        match = self._match(_PROTOTYPE, position)
        line = self._text.line(position)
        self.prototypes[self._directive_label(position)] = Prototype(
            declarations.parameters(match[1], line), declarations.parameters(match[2], line))
        return match.end()

    def _targets(self, position: int) -> int:
        match = self._match(_BRANCH_TARGETS, position)
        self.branch_targets[self._directive_label(position)] = tuple(name.strip() for name in match[1].split(","))
        return match.end()

    def _directive_label(self, position: int) -> str:
        """The label just before a directive; it names the directive, not a place in the code."""
        if not self.statements or not isinstance(self.statements[-1], Label):
            raise self._text.error("this directive needs a label", position)
        return self.statements.pop().name

    def _check_branch_targets(self, position: int) -> None:
        labels = {statement.name for statement in self.statements if isinstance(statement, Label)}
        for name, targets in self.branch_targets.items():
            missing = [target for target in targets if target not in labels]
            if missing:
                raise PtxError("branch target without a label", self._text.line(position), f"{name}: {missing[0]}")

    def _pragma(self, position: int) -> int:
        return self._match(PRAGMA, position).end()

    def _section(self, position: int) -> int:
        return self._match(DEBUG_SECTION, position).end()
