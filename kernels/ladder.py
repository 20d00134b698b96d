"""A ladder: one problem, one reference, and steps from slow to fast.

LADDER = Ladder(…) stands in the __init__.py of the ladder's folder, which kernels/__init__.py lists; each step is a file,
s10_naive.py and so on, beside it. The number only orders the files: a step's stable name is the word, and its id is
"<ladder>/<word>".

A step's file has
    run(buffers, stream)   launches everything; buffers: {name: device array} of inputs, outputs and scratch
    cost(case) -> Cost     the work of one run, equal to the counters of the emulated device
    CLAIMS                 tuple of Claim: what "Why faster" says, as counter totals
    kernel                 the @cuda.jit function (or several, under any names)
    scratch(case, inputs)  optional: {name: (shape, dtype)} of device memory that run needs besides
and a docstring with the sections of SECTIONS. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from kernels import FAMILIES
from kernels.broken import said_of
from kernels.case import Arrays, Case, Claim, Cost, Layout
from kernels.fingerprint import fingerprint
from kernels.shapes import Axes, Limit, case_of, require

KINDS = {"integers": "integer-valued", "normal": "normal"}
"""Whole numbers in [-8, 8], on which a sum has one right answer, and normal numbers."""

MARKER = re.compile(r"\s*#(?:-| (?:gap:|planted$|instead$|end gap$|end planted$))")

SECTIONS = ("Computes", "Launch", "Cost", "Changed", "Why faster", "Source")


class UnknownName(LookupError):
    """A ladder or step that does not exist; the message names the nearest one that does."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]!r}? There" if nearest else "there"
        super().__init__(f"there is no {kind} {name!r}; {hint} are: {', '.join(known)}")


@dataclass(frozen=True)
class Step:
    """One file of a ladder. `previous` is the step below it, None for the first; `home` the ladder that it stands on."""

    ladder: str
    module_name: str
    previous: Step | None
    home: Ladder | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The word in sNN_word: stable, and used in records, tests and links."""
        return self.module_name.rpartition(".")[2].partition("_")[2]

    @property
    def id(self) -> str:
        return f"{self.ladder}/{self.name}"

    @cached_property
    def module(self) -> ModuleType:
        """The step's code. Raises Broken where it cannot be imported, as `doc` and `fingerprint` do of what they need."""
        with said_of(self.path):
            return importlib.import_module(self.module_name)

    @cached_property
    def path(self) -> Path:
        """The step's file, found without importing it."""
        spec = importlib.util.find_spec(self.module_name)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"{self.id}: no file for {self.module_name}; is it listed under the right name?")
        return Path(spec.origin)

    def run(self, buffers: Mapping[str, Any], stream: Any = 0) -> None:
        """Launch the step on device arrays; asynchronous on `stream`. Where there is nothing to write, nothing is launched.

        Raises ValueError where the shapes of the arrays do not fit together.
        """
        self.prepared(buffers)(stream)

    def prepared(self, buffers: Mapping[str, Any]) -> Callable[[Any], None]:
        """`run` on these arrays, but for its stream: who takes times has the shapes looked at before the clock starts."""
        if self.home is None or self.home.has_work(self, buffers):
            return partial(self.module.run, buffers)
        return lambda stream: None

    def cost(self, case: Case) -> Cost:
        return self.module.cost(case)

    def scratch(self, case: Case, inputs: Mapping[str, np.ndarray]) -> Layout:
        """Shape and dtype of each piece of device memory that run needs besides inputs and outputs."""
        return self.module.scratch(case, inputs) if hasattr(self.module, "scratch") else {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.module.CLAIMS

    @property
    def kernels(self) -> dict[str, Any]:
        """The @cuda.jit kernels written in this file, in its order, without device functions."""
        return {
            name: value
            for name, value in vars(self.module).items()
            if hasattr(value, "py_func")
            and value.py_func.__module__ == self.module_name
            and not value.targetoptions.get("device")
        }

    @property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def plain_source(self) -> str:
        """The source without the markers from which exercises are cut (workbook/exercises/stubs.py)."""
        return "".join(line for line in self.source.splitlines(keepends=True) if not MARKER.match(line))

    @property
    def docstring(self) -> str:
        with said_of(self.path):
            return ast.get_docstring(ast.parse(self.source, filename=str(self.path))) or ""

    @property
    def doc(self) -> dict[str, str]:
        """The docstring by section; its first line under "title"."""
        with said_of(self.path):
            return parse_doc(self.docstring, where=self.id)

    @property
    def changed_from(self) -> str | None:
        """Name of the step that "Changed:" starts from; None for the first step."""
        found = re.match(r"from (\w+):", self.doc["Changed"])
        return found[1] if found else None

    @property
    def fingerprint(self) -> str:
        """12 hex digits: changes with the code, not with comments; see kernels.fingerprint."""
        with said_of(self.path):
            return fingerprint(self.path)

    def diff(self) -> str:
        """Unified diff from the previous step's source to this one's; empty for the first step."""
        if self.previous is None:
            return ""
        before, after = (step.plain_source.splitlines(keepends=True) for step in (self.previous, self))
        return "".join(difflib.unified_diff(before, after, self.previous.path.name, self.path.name))


class Ladder:
    """One problem and its steps, slow to fast.

    package: the module that makes it, __name__; the ladder's name is its last word
    make(case, rng, kind) -> {name: array}         inputs of one kind; without one, those that are timed
    reference(inputs) -> {name: array}             outputs, computed by NumPy in float64 or exact integers
    tolerance(case, inputs) -> {name: array|float} largest allowed |output - reference|, per cell or for all
    outputs(case, inputs) -> {name: (shape, dtype)} what run writes
    cases: sizes on which every step is checked;   timed_case: the size of the published table
    steps: module names "sNN_word", slow to fast; afterwards the Step objects
    kinds: {kind: how a person calls such inputs}; every case is checked with each of them
    peak: the arithmetic of the roofline: "fp32", "int8", …; by default floats as wide as the outputs
    repeated: inputs that hold what another one holds, in a wider form; the minimum traffic leaves them out
    axes: {input: names of its axes}, as in kernels.shapes; without them, no step looks at shapes before it launches
    limits: {axis: the sizes that it may have}, where they are not all those from 0 on
    checked: cases on which races, unwritten memory and barriers are looked for: ragged, and three blocks or more of every step
    """

    def __init__(
        self,
        package: str,
        make: Callable[..., Arrays],
        reference: Callable[[Arrays], Arrays],
        tolerance: Callable[[Case, Arrays], dict[str, np.ndarray | float]],
        outputs: Callable[[Case, Mapping[str, np.ndarray]], Layout],
        cases: Sequence[Case],
        timed_case: Case,
        steps: Sequence[str],
        kinds: Mapping[str, str] = KINDS,
        peak: str | None = None,
        repeated: Collection[str] = (),
        axes: Axes | None = None,
        limits: Mapping[str, Limit] | None = None,
        checked: Sequence[Case] = (),
    ) -> None:
        self.name = _name(package)
        self.make = make
        self.reference = reference
        self.tolerance = tolerance
        self.outputs = outputs
        self.cases = tuple(cases)
        self.timed_case = timed_case
        self.kinds = kinds
        self.peak = peak
        self.repeated = frozenset(repeated)
        self.axes = axes or {}
        self.limits = limits or {}
        self.checked = tuple(checked)
        self.steps = _linked_steps(package, steps, self)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def step(self, name: str) -> Step:
        """The step of that name ("tiled") or id ("matmul/tiled")."""
        known = {step.name: step for step in self.steps}
        try:
            return known[name.removeprefix(f"{self.name}/")]
        except KeyError:
            raise UnknownName(f"step of {self.name}", name, list(known)) from None

    def has_work(self, step: Step, buffers: Mapping[str, Any]) -> bool:
        """Whether the step has a cell to write. Raises ValueError where inputs, outputs and scratch do not fit together."""
        if not self.axes:
            return True
        case = case_of(buffers, self.axes, self.limits)
        outputs = self.outputs(case, buffers)
        for name, (shape, _) in (outputs | step.scratch(case, buffers)).items():
            require(name, buffers[name].shape, shape, f"with {case}")
        return any(0 not in shape for shape, _ in outputs.values())

    def __repr__(self) -> str:
        return f"Ladder({self.name}: {', '.join(step.name for step in self.steps)})"


def _linked_steps(package: str, modules: Sequence[str], home: Ladder) -> tuple[Step, ...]:
    """Step objects, each knowing the one before it. Raises ValueError for names out of form or out of order."""
    for module in modules:
        if not re.fullmatch(r"s\d\d+_[a-z]\w*", module):
            raise ValueError(f"{_name(package)}: {module!r} must be named sNN_word, as in 's30_tiled'")
    numbers = [int(module[1:].partition("_")[0]) for module in modules]
    if numbers != sorted(set(numbers)):
        raise ValueError(f"{_name(package)}: step numbers must rise from one to the next; they are {numbers}")
    steps: list[Step] = []
    for module in modules:
        steps.append(Step(_name(package), f"{package}.{module}", steps[-1] if steps else None, home))
    return tuple(steps)


def parse_doc(docstring: str, where: str = "docstring") -> dict[str, str]:
    """Split a step's docstring into {"title": …, "Computes": …, one per SECTIONS}; lines are joined by a space."""
    title, *parts = re.split(rf"^({'|'.join(SECTIONS)}):", docstring, flags=re.MULTILINE)
    found = {"title": title, **dict(zip(parts[::2], parts[1::2], strict=True))}
    wanted = ("title", *SECTIONS)
    if tuple(found) != wanted or len(parts) != 2 * len(SECTIONS):
        raise ValueError(f"{where}: the docstring needs, once each and in this order, {wanted}; it has {tuple(found)}")
    return {section: " ".join(text.split()) for section, text in found.items()}


def families() -> dict[str, tuple[str, ...]]:
    """{family: the names of its ladders}, in the order in which to climb them."""
    return {family: tuple(_name(package) for package in packages) for family, packages in FAMILIES.items()}


def ladder_names() -> list[str]:
    """All ladders, family by family."""
    return [name for ladders in families().values() for name in ladders]


def load_ladder(name: str) -> Ladder:
    """The ladder of that name. Raises UnknownName with the nearest one, Broken where its package cannot be imported."""
    if name not in ladder_names():
        raise UnknownName("ladder", name, ladder_names())
    packages = {_name(package): package for ladders in FAMILIES.values() for package in ladders}
    with said_of(None):
        return importlib.import_module(f"kernels.{packages.get(name, name)}").LADDER


def load_ladders(name: str) -> tuple[Ladder, ...]:
    """The ladder of that name, or all ladders of the family of that name. Raises UnknownName with the nearest one."""
    names = {**families(), **{ladder: (ladder,) for ladder in ladder_names()}}
    if name not in names:
        raise UnknownName("ladder", name, list(names))
    return tuple(load_ladder(ladder) for ladder in names[name])


def _name(package: str) -> str:
    return package.rpartition(".")[2]


def load_step(step_id: str) -> Step:
    """The step of an id such as "matmul/tiled". Raises UnknownName with the nearest one."""
    ladder, slash, name = step_id.partition("/")
    if not slash:
        raise ValueError(f"{step_id!r} is not a step id: write ladder/step, as in 'matmul/tiled'")
    return load_ladder(ladder).step(name)
