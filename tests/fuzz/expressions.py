"""Random expressions whose value is certain: as text that Numba and Python read alike.

An integer expression carries how many bits it needs, so that comparisons, divisions and right shifts never see a value that
Numba's int64 would have wrapped and Python's int not; and how widely lanes agree on it: BLOCK, WARP, or LANE for not at all.
"""
from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

BLOCK, WARP, LANE = range(3)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
EXACT_BITS = 63


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """An integer expression with |value| < 2**bits."""

    text: str
    bits: int
    level: int = LANE


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """``mask`` keeps the values of an integer variable small; 0 for one that takes whatever fits its type."""

    initial: str
    mask: int
    kind: str
    bits: int
    level: int

    def fitted(self, value: str) -> str:
        """The text of a value made to fit."""
        return f"{value} & {self.mask}" if self.mask else f"{self.kind}({value})"


INTEGERS = {
    "s0": Variable("tid", 4095, "i64", 12, LANE), "s1": Variable("tid * 3 & 255", 4095, "i64", 12, LANE),
    "s2": Variable("lane ^ 5", 4095, "i64", 12, LANE), "x0": Variable("n - tid", 0, "i64", 63, LANE),
    "y0": Variable("m + tid * 77", 0, "i32", 31, LANE), "u0": Variable("n & 1023", 4095, "i64", 12, BLOCK),
    "w0": Variable("tid >> 5", 4095, "i64", 12, WARP), "t0": Variable("n & 7", 4095, "i64", 12, LANE),
}
ALWAYS = {"s0", "s1", "u0", "t0"}
SOURCES = (
    Value("tid", 10), Value("tx", 8), Value("ty", 6), Value("lane", 5), Value("bx", 2, BLOCK), Value("by", 2, BLOCK),
    Value("(n & 7)", 3, BLOCK), Value("n", 63, BLOCK), Value("m", 31, BLOCK), Value("(tid >> 5)", 5, WARP),
)
TABLES = {"tb": (63, 63), "tw": (63, 31), "th": (63, 15), "tc": (63, 8), "ct": (31, 31)}       # name -> last index, bits
FLOATS = {"f0": "f32", "d0": "f64"}


class Expressions:
    """Writes expressions over the variables that one program has."""

    def __init__(self, rng: random.Random):
        self.rng, self.serial = rng, 0
        chosen = {name for name in INTEGERS if rng.random() < 0.4} | ALWAYS
        self.integers = {name: variable for name, variable in INTEGERS.items() if name in chosen}
        self.floats = [name for name in FLOATS if rng.random() < 0.4]
        self.rounded, self.unsigned, self.flag, self.local = (rng.random() < share for share in (0.25, 0.3, 0.4, 0.25))
        self.counters: list[str] = []           # of while loops: they keep their last value
        self.loops: list[Value] = []            # counters of the loops around the current place

    # -- choices

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *options: tuple[float, Callable]) -> Callable:
        """One of (weight, function) pairs."""
        return self.rng.choices([option for _, option in options], [weight for weight, _ in options])[0]

    def fresh(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    # -- integer expressions

    def atom(self, level: int) -> Value:
        if self.chance(0.2):
            number = self.rng.choice((0, 1, 2, 3, 5, 7, 13, 31, 64, 100, 1000, -1, -4))
            return Value(str(number) if number >= 0 else f"({number})", 10, BLOCK)
        named = [Value(name, variable.bits, variable.level) for name, variable in self.integers.items()]
        named += [Value(name, 4) for name in self.counters]
        pool = [value for value in [*named, *named, *self.loops, *self.loops, *SOURCES] if value.level <= level]
        return self.rng.choice(pool)

    def integer(self, level: int, depth: int = 2) -> Value:
        if depth == 0 or self.chance(0.25):
            return self.atom(level)
        return self.pick((5, self.arithmetic), (2, self.shift), (1.5, self.table), (1, self.extreme), (1, self.divide),
                         (1, self.choose), (0.6, self.counted_bits), (0.6, self.from_float))(level, depth - 1)

    def exact(self, value: Value) -> Value:
        """The value as int64 would hold it."""
        return value if value.bits <= EXACT_BITS else Value(f"i64({value.text})", EXACT_BITS, value.level)

    def small(self, value: Value, mask: int) -> Value:
        return Value(f"({value.text} & {mask})", mask.bit_length(), value.level)

    def arithmetic(self, level: int, depth: int) -> Value:
        x, y = self.integer(level, depth), self.integer(level, depth)
        op = self.rng.choice("+-*^&|+-")
        bits = {"*": x.bits + y.bits}.get(op, max(x.bits, y.bits) + (op in "+-"))
        return self.exact(Value(f"({x.text} {op} {y.text})", bits, max(x.level, y.level)))

    def shift(self, level: int, depth: int) -> Value:
        x, amount = self.integer(level, depth), self.rng.randrange(1, 7)
        if self.chance(0.5):
            return Value(f"({x.text} >> {amount})", max(x.bits - amount, 1), x.level)
        if self.chance(0.3):
            by = self.small(self.integer(level, 0), 15)
            return Value(f"({x.text} >> {by.text})", x.bits, max(x.level, by.level))
        return self.exact(Value(f"({x.text} << {amount})", x.bits + amount, x.level))

    def table(self, level: int, depth: int) -> Value:
        index = self.integer(level, depth)
        if self.chance(0.15):
            other = self.integer(level, 0)
            return Value(f"tm[{index.text} & 7, {other.text} & 15]", 31, max(index.level, other.level))
        if self.local and level == LANE and self.chance(0.4):
            return Value(f"la[{index.text} & 7]", 31)
        name, (last, bits) = self.rng.choice(list(TABLES.items()))
        end = f" - {last + 1}" if self.chance(0.2) else ""              # an index from the end
        return Value(f"{name}[({index.text} & {last}){end}]", bits, index.level)

    def extreme(self, level: int, depth: int) -> Value:
        x, y = self.integer(level, depth), self.integer(level, 0)
        return Value(f"{self.rng.choice(('min', 'max'))}({x.text}, {y.text})", max(x.bits, y.bits), max(x.level, y.level))

    def divide(self, level: int, depth: int) -> Value:
        x, op = self.integer(level, depth), self.rng.choice(("//", "%"))
        if self.chance(0.5):
            y = Value(str(self.rng.choice((2, 3, 7, 10, 16, 100))), 7, BLOCK)
        else:
            other = self.small(self.integer(level, 0), 15)
            y = Value(f"({other.text} + 1)", 5, other.level)
        bits = x.bits if op == "//" else y.bits
        return Value(f"({x.text} {op} {y.text})", bits, max(x.level, y.level))

    def choose(self, level: int, depth: int) -> Value:
        x, y = self.integer(level, depth), self.integer(level, 0)
        condition, of = self.condition(level, 1)
        return Value(f"({x.text} if {condition} else {y.text})", max(x.bits, y.bits), max(x.level, y.level, of))

    def counted_bits(self, level: int, depth: int) -> Value:
        x = self.integer(level, depth)
        text = self.rng.choice(("cuda.popc(i32({}))", "cuda.clz(i32({}))", "i64(cuda.brev(u32({})))"))
        return Value(text.format(x.text), 32, x.level)

    def from_float(self, level: int, depth: int) -> Value:
        if level == LANE and self.floats and self.chance(0.7):
            return Value(f"i64({self.rng.choice(self.floats)})", 12)
        if level == LANE and self.unsigned:
            return Value("i64(z0)", 32)
        return self.atom(level)

    # -- conditions: (text, level)

    def condition(self, level: int, depth: int = 1) -> tuple[str, int]:
        if depth and self.chance(0.25):
            x, y = self.condition(level, 0), self.condition(level, 0)
            return f"({x[0]} {self.rng.choice(('and', 'or'))} {y[0]})", max(x[1], y[1])
        if depth and self.chance(0.08):
            text, of = self.condition(level, 0)
            return f"(not {text})", of
        return self.pick((3, self.bit_test), (4, self.comparison), (0.8, self.unsigned_comparison), (1, self.float_test),
                         (0.8, self.flag_test))(level)

    def bit_test(self, level: int) -> tuple[str, int]:
        x, mask = self.integer(level, 1), self.rng.choice((1, 1, 2, 3, 4, 7))
        if mask in (1, 2, 4):
            return f"({x.text} & {mask}) != 0", x.level
        return f"({x.text} & {mask}) == {self.rng.randrange(mask + 1)}", x.level

    def comparison(self, level: int) -> tuple[str, int]:
        x = self.integer(level, 1)
        y = self.atom(level) if self.chance(0.5) else Value(str(self.rng.randrange(60)), 6, BLOCK)
        if x.bits > 12:
            x = self.small(x, 127)
        return f"{x.text} {self.rng.choice(COMPARISONS)} {y.text}", max(x.level, y.level)

    def unsigned_comparison(self, level: int) -> tuple[str, int]:
        x, y = self.integer(level, 1), self.atom(level)
        kind, op = self.rng.choice(("u32", "u64", "u64", "i32")), self.rng.choice(COMPARISONS)
        return f"{kind}({x.text}) {op} {kind}({y.text} - 5)", max(x.level, y.level)

    def float_test(self, level: int) -> tuple[str, int]:
        if level < LANE:
            return self.bit_test(level)
        op = self.rng.choice(COMPARISONS)
        if self.rounded and self.chance(0.5):
            return f"r0 {op} f32({self.rng.choice((0, 1, 3))})", LANE
        if self.floats:
            name, other = self.rng.choice(self.floats), self.atom(level)
            if other.bits > 31:                 # a longer integer would be rounded twice on its way to float32
                other = self.small(other, 127)
            return f"{name} {op} {FLOATS[name]}({other.text})", LANE
        return self.comparison(level)

    def flag_test(self, level: int) -> tuple[str, int]:
        return ("p0", LANE) if self.flag and level == LANE else self.comparison(level)
