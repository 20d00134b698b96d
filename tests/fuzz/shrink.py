"""Makes a failing program small: drops statements, unwraps compound ones, and simplifies expressions while it still fails."""
from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator

from tests.fuzz.tree import Line, Nest, Program, render

OPERAND = r"(-?[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])?)"
SMALLER = [re.compile(pattern.replace("X", OPERAND)) for pattern in (
    r"(?<!\w)\(X (?:[-+*^&|%]|//|<<|>>) X\)", r"(?<!\w)\(X if [^()]+ else X\)", r"(?<!\w)(?:min|max)\(X, X\)", r"(?<!\w)\(X\)")]
RESULT = "oi[i] = i64("      # a sum of every integer variable


def shrunk(program: Program, fails: Callable[[Program], bool], limit_s: float = 120.0) -> Program:
    """The smallest program found in about ``limit_s`` seconds for which ``fails`` still holds."""
    until, place = time.monotonic() + limit_s, 0
    while True:
        for number, candidate in enumerate(candidates(program)):
            if time.monotonic() > until:
                return program
            if number >= place and fails(candidate):
                program, place = candidate, number
                break
        else:
            if not place:
                return program
            place = 0


def candidates(program: Program) -> Iterator[Program]:
    """Smaller variants, the boldest first."""
    yield from with_one_result(program)
    count = len(program.body)
    size = count // 2
    while size > 1:
        for start in range(0, count, size):
            yield changed(program, lambda body, start=start, size=size: body.__delitem__(slice(start, start + size)))
        size //= 2
    if program.grid != (1, 1):
        smaller = copy.deepcopy(program)
        smaller.grid = (1, 1)
        yield smaller
    for number in range(1, len(last_lines(program))):
        yield changed(program, lambda body, number=number: drop_line(body[-1], number))
    for path in paths(program.body):
        yield from without(program, path)
    for path in paths(program.body):
        yield from simplified(program, path)


def with_one_result(program: Program) -> Iterator[Program]:
    """The last statement sums all variables up: keep one of them."""
    for number, line in enumerate(last_lines(program)):
        terms = line.removeprefix(RESULT).removesuffix(")").split(" + ") if line.startswith(RESULT) else ()
        for term in terms if len(terms) > 1 else ():
            yield changed(program, lambda body, number=number, term=term: set_line(body[-1], number, f"{RESULT}{term})"))


def last_lines(program: Program) -> tuple[str, ...]:
    return program.body[-1].lines if program.body and isinstance(program.body[-1], Line) else ()


def changed(program: Program, change: Callable[[list], None]) -> Program:
    smaller = copy.deepcopy(program)
    change(smaller.body)
    return smaller


Path = tuple[int, ...]          # indices: statement, branch, statement, branch, …, statement


def paths(body: list[Line | Nest], before: Path = ()) -> Iterator[Path]:
    for index, statement in enumerate(body):
        yield (*before, index)
        if isinstance(statement, Nest):
            for number, (_, inner) in enumerate(statement.branches):
                yield from paths(inner, (*before, index, number))


def find(body: list, path: Path) -> tuple[list, int]:
    """(list, index) of the statement at a path."""
    while len(path) > 1:
        body, path = body[path[0]].branches[path[1]][1], path[2:]
    return body, path[0]


def without(program: Program, path: Path) -> Iterator[Program]:
    """The program without a statement, with the bodies of a compound one in its place, or with fewer branches."""
    body, index = find(program.body, path)
    yield changed(program, lambda whole: body_at(whole, path).__delitem__(index))
    statement = body[index]
    if not isinstance(statement, Nest):
        return
    for number in range(len(statement.branches)):
        yield changed(program, lambda whole, number=number: unwrap(body_at(whole, path), index, number))
    for number in range(1, len(statement.branches)):
        yield changed(program, lambda whole, number=number: body_at(whole, path)[index].branches.__delitem__(number))


def body_at(whole: list, path: Path) -> list:
    return find(whole, path)[0]


def unwrap(body: list, index: int, number: int) -> None:
    body[index:index + 1] = body[index].branches[number][1]


def simplified(program: Program, path: Path) -> Iterator[Program]:
    """Variants with one operand in place of an innermost operation."""
    body, index = find(program.body, path)
    statement = body[index]
    texts, put = (statement.lines, set_line) if isinstance(statement, Line) else ([h for h, _ in statement.branches], set_head)
    for number, text in enumerate(texts):
        for new in shorter(text):
            yield changed(program, lambda whole, number=number, new=new: put(body_at(whole, path)[index], number, new))


def set_line(line: Line, number: int, text: str) -> None:
    line.lines = (*line.lines[:number], text, *line.lines[number + 1:])


def drop_line(line: Line, number: int) -> None:
    line.lines = line.lines[:number] + line.lines[number + 1:]


def set_head(nest: Nest, number: int, text: str) -> None:
    nest.branches[number] = (text, nest.branches[number][1])


def shorter(text: str) -> Iterator[str]:
    for pattern in SMALLER:
        for found in pattern.finditer(text):
            for kept in found.groups():
                yield text[:found.start()] + kept + text[found.end():]


def length(program: Program) -> int:
    return sum(1 for _ in render(program.body))
