"""The machine code (SASS) of a kernel: ``nvdisasm`` on its cubin, and what each instruction comes from.

The cubin holds two tables of lines: of the learner's program, with the call sites of inlined functions, and of the PTX. ptxas
writes both where the PTX has lines (``.loc``), as that of every kernel of Numba's has on the emulated device
(simt/driver/patches.py). So each SASS instruction knows its PTX instruction, and the emulator how often that one ran.
"""
from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import importlib.metadata
import io
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from simt.observe.profile import Code
from simt.ptx.mangled import kernel_name

WHEEL = "nvidia-cuda-nvdisasm"
LINES = ("-c", "-g", "-gi", "-gp")
LIVE = ("-c", "-lrm", "count")                    # a run of its own: nvdisasm drops lines where it prints live registers
PTX_SECTION = ".nv_debug_ptx_txt"                 # the PTX in the cubin; nvdisasm names it as a source file
TIMEOUT_S = 120

_SECTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_SPLIT = re.compile(r"^//-+ \.", re.MULTILINE)
_LABEL = re.compile(r"(\.L_\w+):")
_PLACE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(
    r"\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)[^;]*);(?P<rest>.*)")
_NOTE = re.compile(r'\(\*"(\w+)"\*\)')
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_COLUMNS = re.compile(r"//\s*\|([^|]*)\|")

_MANGLED = re.compile(r"_ZN[\w$]+")
_PARAMETER = re.compile(r"_param_\d+$")
_ALWAYS = re.compile(r"(?:BRA|JMP)(?:\.\w+)* `|(?:EXIT|RET|KILL|BRX|JMX)\b")      # no guard and no condition among the operands

_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}

Place = tuple[str, int]


class NoSass(Exception):
    """Why there is no machine code to show."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction.

    address:  bytes from the start of its function
    opcode:   with modifiers: "LDG.E.64";  text: all of it, with its guard and without mangled names
    place:    line of the learner's program, None where the cubin tells none;  inlined: call sites, innermost first
    ptx_line: line of the module's PTX that it comes from, or None
    block:    number of its basic block in the function; None where no path leads to it (padding)
    live:     32-bit registers in use after it, or None
    spill:    the compiler's note that it saves or restores a register for which there was no room
    """

    address: int
    opcode: str
    text: str
    place: Place | None
    inlined: tuple[Place, ...]
    ptx_line: int | None
    block: int | None
    live: int | None
    spill: bool

    @property
    def base(self) -> str:
        """The opcode without modifiers."""
        return self.opcode.split(".", 1)[0]

    @property
    def access_bytes(self) -> int:
        """Of each lane, where this is a load or store: "LDG.E.64" -> 8."""
        return next((_WIDTHS[part] for part in self.opcode.split(".") if part in _WIDTHS), 4)


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A kernel, a device function that was not inlined, or a routine of the compiler's."""

    name: str
    instructions: tuple[Instruction, ...]

    @property
    def has_lines(self) -> bool:
        return any(instruction.place for instruction in self.instructions)


def find_nvdisasm() -> Path:
    """The program in its wheel. Raises NoSass."""
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    found = next((file.locate() for file in files if file.stem == "nvdisasm"), None)
    if found is None or not Path(found).exists():
        raise NoSass(f"SASS needs nvdisasm, from the package {WHEEL}: pip install {WHEEL}")
    return Path(found)


def disassemble(code: Code | None, kernel: str, *, live: bool = True) -> list[Function]:
    """The kernel, then what else is in its module. live: with the registers in use, which takes nvdisasm a second run.

    Raises NoSass where there is no cubin, or no nvdisasm that reads it.
    """
    if code is None or code.cubin is None:
        raise NoSass("no SASS: ptxas cannot compile this kernel's PTX for the device, so there is no cubin")
    functions = _disassemble(code.cubin, code.ptx, live)
    return sorted(functions, key=lambda function: function.name != kernel)


@functools.lru_cache(maxsize=64)
def _disassemble(cubin: bytes, ptx: str, with_live: bool) -> tuple[Function, ...]:
    nvdisasm = find_nvdisasm()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = (LINES, LIVE) if with_live else (LINES,)
            lines, *live = pool.map(lambda options: _run(nvdisasm, options, file.name), runs)
    offsets = _ptx_offsets(cubin, ptx)
    registers = {name: dict(_live(body)) for listing in live for name, body in _sections(listing)}
    return tuple(_Listing(name, offsets, registers.get(name, {})).read(body) for name, body in _sections(lines))


def _run(nvdisasm: Path, options: tuple[str, ...], path: str) -> str:
    command = [str(nvdisasm), *options, path]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSass(f"no SASS: nvdisasm did not run ({error})") from error
    if done.returncode:
        raise NoSass(f"no SASS: nvdisasm says {done.stderr.strip() or done.stdout.strip() or done.returncode}")
    return done.stdout


def _sections(listing: str) -> Iterator[tuple[str, list[str]]]:
    """(name, lines) of each function."""
    for part in _SPLIT.split(listing):
        if match := _SECTION.search(part):
            yield match[1], part.splitlines()


def _live(body: list[str]) -> Iterator[tuple[int, int]]:
    """(address, general registers in use) out of nvdisasm's table; a blank cell is 0."""
    for line in body:
        found, columns = _INSTRUCTION.match(line), _COLUMNS.search(line)
        if found and columns:
            yield int(found["address"], 16), int(columns[1].strip() or 0)


class _Listing:
    """Reads one function. nvdisasm writes a line's place where it changes: the innermost line first, then its call sites."""

    def __init__(self, name: str, offsets: dict[str, int], live: dict[int, int]) -> None:
        self.name, self.offsets, self.live = name, offsets, live
        self.labels: dict[str, int] = {}             # label -> index of the instruction behind it
        self.found: list[re.Match] = []
        self.places: list[tuple[tuple[Place, ...], int | None]] = []

    def read(self, body: list[str]) -> Function:
        places: tuple[Place, ...] = ()
        ptx_line: int | None = None
        group: list[Place] = []
        for line in body:
            if match := _PLACE.match(line):
                group.append((match[1], int(match[2])))
            elif match := _LABEL.match(line):
                self.labels[match[1]] = len(self.found)
            elif match := _INSTRUCTION.match(line):
                if own := tuple(place for place in group if not place[0].startswith(PTX_SECTION)):
                    places = own
                for file, number in group:
                    if file.startswith(PTX_SECTION):
                        ptx_line = number + self.offsets[file] if file in self.offsets else None
                group = []
                self.found.append(match)
                self.places.append((places, ptx_line))
        blocks = _blocks([(match["opcode"], match["text"]) for match in self.found], self.labels)
        return Function(self.name, tuple(map(self.instruction, self.found, self.places, blocks)))

    def instruction(self, match: re.Match, place: tuple[tuple[Place, ...], int | None], block: int | None) -> Instruction:
        (*learners,), ptx_line = place
        address = int(match["address"], 16)
        notes = _NOTE.findall(match["text"] + match["rest"])
        text = " ".join(_NOTE.sub("", match["text"]).split())
        return Instruction(
            address, match["opcode"], readable(text), learners[0] if learners else None, tuple(learners[1:]), ptx_line, block,
            self.live.get(address), "SpillRefill" in notes,
        )


def _blocks(code: list[tuple[str, str]], labels: dict[str, int]) -> list[int | None]:
    """The basic block of each (opcode, text); None where no path leads."""
    named = [_TARGET.findall(text) for _, text in code]
    targets = {index: [labels[label] for label in found if label in labels] for index, found in enumerate(named)}
    starts = {0} | {target for found in targets.values() for target in found}
    starts |= {index + 1 for index, (opcode, _) in enumerate(code) if opcode.split(".")[0] in _ENDS}
    numbers, number = [], -1
    for index in range(len(code)):
        number += index in starts
        numbers.append(number)
    reached = _reached(code, targets)
    return [number if index in reached else None for index, number in enumerate(numbers)]


_ENDS = frozenset({"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "BSYNC", "BREAK", "KILL", "BPT"})
_ANYWHERE = frozenset({"BRX", "JMX"})


def _reached(code: list[tuple[str, str]], targets: dict[int, list[int]]) -> set[int]:
    """Instructions that some path leads to. An indirect branch may go to any label that code names."""
    everywhere = [target for found in targets.values() for target in found]
    reached: set[int] = set()
    waiting = [0]
    while waiting:
        index = waiting.pop()
        if index in reached or index >= len(code):
            continue
        reached.add(index)
        opcode, text = code[index]
        waiting += everywhere if opcode.split(".")[0] in _ANYWHERE else targets[index]
        if not _ALWAYS.match(text):
            waiting.append(index + 1)
    return reached


def _ptx_offsets(cubin: bytes, ptx: str) -> dict[str, int]:
    """Section of PTX in the cubin -> what to add to its lines for lines of ``ptx``, where modules stand one below another.

    Sections keep the lines of what was linked, without comments; one that is not in ``ptx`` (what LTO made) is left out.
    """
    from elftools.elf.elffile import ELFFile

    whole = [_bare(line) for line in ptx.splitlines()]
    heads = [index for index, line in enumerate(whole) if line.startswith(".version")]
    offsets = {}
    for section in ELFFile(io.BytesIO(cubin)).iter_sections():
        if section.name.startswith(PTX_SECTION):
            lines = [_bare(line) for line in section.data().decode(errors="replace").split("\0")]
            first = next((index for index, line in enumerate(lines) if line), 0)
            text = [(index - first, line) for index, line in enumerate(lines) if line]
            for head in heads:
                if all(head + index < len(whole) and whole[head + index] == line for index, line in text):
                    offsets[section.name] = head - first
                    break
    return offsets


def _bare(line: str) -> str:
    return "".join(line.split("//")[0].split())


def readable(text: str) -> str:
    """Mangled names as the learner wrote them: "[_ZN8__main__4tileB2v1…_param_3]" -> "[tile_param_3]"."""
    return _MANGLED.sub(lambda match: kernel_name(match[0]) + "".join(_PARAMETER.findall(match[0])), text)
