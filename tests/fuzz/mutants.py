"""Would the fuzz notice? Known mistakes, each patched into a copy of ``simt``; the programs have to fail on every copy.

python -m tests.fuzz.mutants [--programs 120] [--seed 0] [--size 8] [--only WORD]

Programs are compiled and worked out once and must agree on the unchanged ``simt`` first. Exit status 1 if a mutant survives,
or if its text is no longer found: then the mutant has to follow the code.

Not here, because Numba's compiler never writes PTX that needs them: back edges merged into one, loops kept contiguous, ways
out of a loop followed to where they meet, guarded instructions. Tests of hand-written PTX in tests/simt notice those.
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.generator import generate
from tests.fuzz.runner import HANG_S, Case, NotCompiled, case_of

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` becomes ``new`` in a file of simt, where it stands exactly once."""

    what: str
    path: str
    old: str
    new: str

    def apply(self, text: str) -> str | None:
        """The text with the mistake in it; None where it has changed too much for that."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


MUTANTS = (
    Mutant("a phi is written in all lanes, not in those that come", "jit/flow.py",
           "return None if mask == self.emitter.mask and", "return None if True or"),
    Mutant("lanes that leave a loop early do not keep their values", "ir/divergence.py",
           "self.masked |= {name for name in outside if self.values.block.get(name) in loop.blocks}", "pass"),
    Mutant("phis where lanes meet again stay uniform", "ir/divergence.py",
           "self.split_phis.update(phi.result for phi in block.phis)", "pass"),
    Mutant("every phi is uniform", "ir/divergence.py",
           "changed |= self.lower(phi.result, self.phi_shape(phi))", "changed |= self.lower(phi.result, UNIFORM)"),
    Mutant("the last pending block runs first", "jit/flow.py",
           "sorted(candidates, key=lambda b: b.position)", "sorted(candidates, key=lambda b: -b.position)"),
    Mutant("after a jump, blocks that wait are not asked", "jit/flow.py",
           "earlier = {b for b in self.waiting(block) | {successor} if b.position <= successor.position}",
           "earlier = {successor}"),
    Mutant("after a branch, only its own ways can run next", "jit/flow.py",
           "candidates = self.waiting(block) | {successor for successor, _ in inner}",
           "candidates = {successor for successor, _ in inner}"),
    Mutant("two different shapes meet in the first", "ir/shapes.py",
           "    return x if x == y else VARYING", "    return x"),
    Mutant("offsets are not scaled by a constant factor", "ir/shapes.py",
           "return wrapped(bases, (x * factor for x in shapes[one].offsets), bits)",
           "return wrapped(bases, shapes[one].offsets, bits)"),
    Mutant("subtracting adds the offsets", "ir/shapes.py",
           "(x - y for x, y in zip(shapes[0]", "(x + y for x, y in zip(shapes[0]"),
    Mutant("x & y lies below a y that may be negative", "ir/ranges.py",
           "if r is not None and r[0] >= 0]", "if r is not None]"),
    Mutant("a phi has the range of its first source", "ir/ranges.py",
           "return min(r[0] for r in ranges), max(r[1] for r in ranges)", "return ranges[0]"),
    Mutant("a pattern of the first warp is taken for that of all", "ir/known.py",
           "if all(longest[1][: len(head)] == head for head, _ in patterns):", "if True:"),
    Mutant("predicates of waiting lanes are overwritten", "jit/values.py",
           'changed = self.text.define(f"and i32 {changed}, {mask}")', "pass"),
    Mutant("a store with all lanes in bounds ignores the mask", "jit/memory.py",
           "        if not scalar:\n", "        if False:\n"),
    Mutant("atomics act in lanes that do not run", "jit/warp.py",
           "self.lane_loop(mask, lambda lane: self.atomic_lane(node, lane_type, lane))",
           'self.lane_loop("-1", lambda lane: self.atomic_lane(node, lane_type, lane))'),
    Mutant("lanes that return stay alive", "jit/flow.py",
           'left = self.text.define(f"and i32 {alive}, {others}")', "left = alive"),
    Mutant("all lanes go on after a barrier", "jit/suspend.py",
           "self.store_header(4, self.emitter.mask)", 'self.store_header(4, "-1")'),
    Mutant("the last warp is always full", "jit/entry.py",
           "last = (1 << (threads % WARP)) - 1 if threads % WARP else -1", "last = -1"),
    Mutant("a vote of a barrier goes on from the last one's count", "jit/entry.py",
           "round:\n  store i64 0, ptr %count.at\n", "round:\n"),
    Mutant("a block is over at its first barrier", "jit/entry.py",
           "br i1 %waiting, label %release, label %done", "br label %done"),
    Mutant("blocks of every row take the place of the first", "jit/entry.py",
           "  store i64 %y, ptr %y.at\n  store i64 %z, ptr %z.at\n  store i64 %linear, ptr %block.at\n  %unwatched",
           "  store i64 %z, ptr %z.at\n  store i64 %linear, ptr %block.at\n  %unwatched"),
    Mutant("warps that wait for memory are not run again", "jit/entry.py",
           "%again.next = or i1 %again, %waits_on", "%again.next = or i1 %again, false"),
    Mutant("the first warp runs in place of the last", "runtime/schedule.py",
           "        return numbers\n", "        return numbers % max(count - 1, 1)\n"),
    Mutant("lanes that come later to the code behind a lock overwrite its values", "ir/divergence.py",
           "kept |= crossing_from(beside, order, values)", "pass"),
    Mutant("the high half of a product begins one bit too low", "isa/integer.py",
           'b.binary("lshr", whole, b.const(whole.type, x.bits))', 'b.binary("lshr", whole, b.const(whole.type, x.bits - 1))'),
    Mutant("narrow integers are widened without their sign", "isa/convert.py",
           "return b.resize(x, IR_TYPE[target(form)], signed=is_signed(form.type))",
           "return b.resize(x, IR_TYPE[target(form)], signed=False)"),
    Mutant("comparisons are always signed", "isa/compare.py",
           'sign = "" if name in ("eq", "ne") else form.type[0]', 'sign = "" if name in ("eq", "ne") else "s"'),
    Mutant("right shifts are always logical", "isa/logic.py",
           '"ashr" if is_signed(form.type) else "lshr"', '"lshr" if is_signed(form.type) else "lshr"'),
    Mutant("shfl.down reads one lane too far", "jit/warp.py", '"down": lane + amount,', '"down": lane + amount + 1,'),
    Mutant("votes count lanes that do not run", "jit/warp.py",
           '        bits = self.text.define(f"and i32 {self.lanes.mask_bits(predicate)}, {self.emitter.mask}")\n        mode =',
           '        bits = self.lanes.mask_bits(predicate)\n        mode ='),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=120, help="tried on each mutant, at most (default 120)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default 0)")
    parser.add_argument("--size", type=int, default=8, help="statements of a program, roughly (default 8)")
    parser.add_argument("--only", default="", metavar="WORD", help="mutants whose description or file contains this")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="keep the compiled programs here, and use those found")
    return parser.parse_args()


def make_cases(options: argparse.Namespace) -> list[Case]:
    if options.cases and options.cases.exists():
        return pickle.loads(options.cases.read_bytes())
    cases = []
    for seed in range(options.seed, options.seed + options.programs):
        try:
            cases.append(case_of(generate(seed, options.size)))
        except NotCompiled:
            continue
    if options.cases:
        options.cases.write_bytes(pickle.dumps(cases))
    return cases


def replay(folder: Path, kept: Path) -> tuple[bool, str]:
    """(failed, what it said) of the cases on the ``simt`` in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMT_CACHE": "off", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.replay", str(kept)], cwd=folder, env=environment, text=True,
                              capture_output=True, timeout=20 * HANG_S)
    except subprocess.TimeoutExpired:
        return True, "no end"
    if done.returncode < 0:
        return True, f"exit status {done.returncode}"
    if done.returncode and not done.stdout:
        return False, "nothing ran: " + done.stderr.strip().rpartition("\n")[2]
    return done.returncode != 0, done.stdout.strip()


def patched(folder: Path, mutant: Mutant | None) -> bool:
    """Copy simt into a folder and apply a mutant; False where it does not fit the code any more."""
    shutil.copytree(ROOT / "simt", folder / "simt", ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is None:
        return True
    file = folder / "simt" / mutant.path
    text = mutant.apply(file.read_text(encoding="utf-8"))
    if text is not None:
        file.write_text(text, encoding="utf-8")
    return text is not None


def main() -> int:
    options = arguments()
    chosen = [mutant for mutant in MUTANTS if options.only in f"{mutant.path} {mutant.what}"]
    with tempfile.TemporaryDirectory() as name:
        folder, kept = Path(name), Path(name, "cases")
        start = time.monotonic()
        cases = make_cases(options)
        kept.write_bytes(pickle.dumps(cases))
        patched(folder / "unchanged", None)
        failed, said = replay(folder / "unchanged", kept)
        print(f"{len(cases)} programs, made and run in {time.monotonic() - start:.0f} s", flush=True)
        if failed:
            print(f"they fail without any mutant: {said}")
            return 1
        wrong = [mutant for number, mutant in enumerate(chosen) if not killed(folder / str(number), mutant, kept)]
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} mutants found")
    return 1 if wrong else 0


def killed(folder: Path, mutant: Mutant, kept: Path) -> bool:
    start = time.monotonic()
    if not patched(folder, mutant):
        failed, said = False, "it does not fit the code any more"
    else:
        failed, said = replay(folder, kept)
    verdict = f"found after {said[:110]}" if failed else f"SURVIVES {said}"
    print(f"{mutant.path}: {mutant.what}: {verdict} ({time.monotonic() - start:.0f} s)", flush=True)
    shutil.rmtree(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
