"""Random kernels: nested loops and branches that split warps; barriers, shuffles, votes and atomics where CUDA allows them.

``generate(seed)`` gives a Program with a defined meaning. What makes it certain, besides expressions.py:

levels   a place in the code is reached by the whole BLOCK alike, by each WARP as a whole, or by single LANEs. Barriers stand
         only at BLOCK places, shuffles and votes only where whole warps arrive. Lanes that returned are excused.
floats   f0 and d0 hold small whole numbers, so fused and separate multiply-adds agree; r0 holds rounded quotients, roots and
         products, which are never added to anything
t0       is only ever assigned what running lanes agree on: lanes differ by where they went, or by when they left a loop
memory   threads write their own elements, or atomically; a shared array is read only between two barriers
locks    in every LOCKS-th program each thread may take a lock, all lanes of a warp the same one, and add to what it protects
"""
from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator

from tests.fuzz.expressions import BLOCK, FLOATS, LANE, WARP, Expressions, Value
from tests.fuzz.tree import Line, Nest, Program

SHAPES = ((100, 1, 1), (5, 7, 1), (16, 16, 1), (8, 4, 3), (32, 1, 1), (64, 1, 1), (33, 1, 1), (16, 4, 1), (2, 2, 9), (1, 40, 1))
GRIDS = ((2, 1), (3, 1), (1, 2), (2, 2))
BUDGET = 220                # statements that a thread may execute in one statement of the top level, roughly
DEEPEST = 4
LOCKS = 5


def generate(seed: int, size: int = 24) -> Program:
    """``size``: roughly how many statements, without the first and last ones that every program has."""
    rng = random.Random(seed)
    body = Generator(rng, size, locks=seed % LOCKS == 0).program()
    return Program(seed, body, rng.choice(SHAPES), rng.choice(GRIDS), rng.choice((0, 1, 5, 6, 37, -3, 1 << 40)),
                   rng.choice((0, 2, 7, -1, 1000003)))


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """``budget``: statements that one thread may still execute in here, all iterations together.

    loop: the level of the innermost loop, if any: break and continue stand at places no more divergent than that
    """

    level: int
    budget: int
    depth: int = 0
    loop: int | None = None

    def inside(self, level: int, **changes: object) -> Place:
        return dataclasses.replace(self, level=max(level, self.level), depth=self.depth + 1, **changes)


class Generator(Expressions):
    """``left``: how many more statements there may be."""

    def __init__(self, rng: random.Random, size: int, locks: bool = False):
        super().__init__(rng)
        self.left, self.locks = size, locks

    def program(self) -> list[Line | Nest]:
        place = Place(BLOCK, BUDGET)
        body: list[Line | Nest] = []
        while self.left > 0:
            body.append(self.statement(place))
        return [*self.start(), *body, self.results()]

    def start(self) -> Iterator[Line]:
        for name, variable in self.integers.items():
            yield Line((f"{name} = {variable.initial if variable.mask else variable.fitted(variable.initial)}",))
        for name in self.floats:
            yield Line((f"{name} = {FLOATS[name]}(tid & 63)",))
        extra = {"z0 = u32(tid * 2654435761)": self.unsigned, "r0 = f32(f32(tid) / f32(3))": self.rounded,
                 "p0 = (tid & 2) != 0": self.flag}
        yield from (Line((text,)) for text, used in extra.items() if used)
        yield from (Line((f"{name} = 0",)) for name in self.counters)
        if self.local:
            yield Line(("for q in range(8):", "    la[q] = i32(tid * 5 + q)"))

    def results(self) -> Line:
        terms = [f"{name} * {2 * k + 1}" for k, name in enumerate(self.integers)]
        terms += [f"i64({name}) * 64" for name in self.floats]
        terms += [text for text, used in (("i64(z0)", self.unsigned), ("i64(p0) * 4096", self.flag)) if used]
        lines = [f"oi[i] = i64({' + '.join(terms)})"]
        if self.rounded:
            lines.append("of[i] = r0")
        if "y0" in self.integers and self.chance(0.5):
            lines.append("oy[i] = y0")
        if "d0" in self.floats and self.chance(0.5):
            lines.append("od[i] = d0")
        return Line(tuple(lines))

    def body_of(self, place: Place, most: int = 3) -> list[Line | Nest]:
        return [self.statement(place) for _ in range(self.rng.randrange(1, most + 1))]

    def statement(self, place: Place) -> Line | Nest:
        options = [(4.0, self.assign), (0.7, self.own_element), (0.5, self.atomic), *[(1.5, self.locked)] * self.locks]
        if place.depth < DEEPEST and self.left > 0:
            options += [(3.0, self.branch), (2.5, self.repeat), (0.4, self.ladder)]
            options += [(0.4, self.finish)] if place.loop is None else [(3.0, self.leave), (0.6, self.finish)]
        if place.level <= WARP:
            options += [(0.9, self.shuffle), (0.7, self.vote), (0.5, self.among_some)]
        if place.level == BLOCK:
            options += [(1.2, self.exchange), (0.5, self.block_vote)]
        self.left -= 1
        return self.pick(*options)(place)

    # -- assignments

    def assign(self, place: Place) -> Line:
        options: list[tuple[float, Callable]] = [(6, self.assign_integer), (3, self.assign_in_step)]
        options += [(2, self.assign_float)] * bool(self.floats) + [(1.2, self.assign_rounded)] * self.rounded
        options += [(1.2, self.assign_flag)] * self.flag + [(1.2, self.assign_unsigned)] * self.unsigned
        return self.pick(*options)(place)

    def assign_integer(self, place: Place) -> Line:
        names = [name for name, variable in self.integers.items() if variable.level >= place.level and name != "t0"]
        name = self.rng.choice(names)
        variable = self.integers[name]
        return Line((f"{name} = {variable.fitted(self.integer(variable.level).text)}",))

    def assign_in_step(self, place: Place) -> Line:
        other = self.rng.choice([*self.loops, self.integer(BLOCK, 1)]).text
        text = self.rng.choice((f"(t0 + {other})", f"(t0 * 3 + {other})", f"(t0 ^ {other})", other))
        return Line((f"t0 = {self.integers['t0'].fitted(text)}",))

    def add(self, text: str) -> str:
        """The statement that adds any integer to some variable which may differ by lane."""
        name = self.rng.choice([name for name, variable in self.integers.items() if variable.level == LANE and name != "t0"])
        return f"{name} = {self.integers[name].fitted(f'({name} + {text})')}"

    def assign_float(self, place: Place) -> Line:
        name = self.rng.choice(self.floats)
        kind, table = FLOATS[name], {"f32": "tf", "f64": "td"}[FLOATS[name]]
        numbers = (f"{kind}({self.small(self.integer(LANE, 1), 63).text})", f"{table}[{self.integer(LANE, 1).text} & 63]")
        x, y = self.rng.choice(numbers), self.rng.choice((*numbers, name))
        text = self.rng.choice((f"{name} * {x} + {y}", f"{name} - {x}", f"{x} * {y} - {name}", f"min({name}, {x})",
                                f"max({x}, {y})", f"abs({name} - {x})", f"-{name}"))
        if self.chance(0.7):
            return Line((f"{name} = {kind}(i64({text}) & 1023)",))
        return Line((f"{name} = max(min({text}, {kind}(900)), {kind}(-900))",))

    def assign_rounded(self, place: Place) -> Line:
        x = f"f32({self.small(self.integer(LANE, 1), 255).text})"
        text = self.rng.choice((f"r0 / ({x} + f32(1))", f"{x} / (abs(f32(tx)) + f32(3))", f"math.sqrt({x})", f"r0 * {x}",
                                f"f64({x}) / f64(7)"))
        return Line((f"r0 = f32({text})",))

    def assign_flag(self, place: Place) -> Line:
        return Line((f"p0 = {self.condition(LANE)[0]}",))

    def assign_unsigned(self, place: Place) -> Line:
        x = self.integer(LANE, 1).text
        text = self.rng.choice((f"i64(z0) * {self.rng.choice((3, 69069))} + {x}", f"i64(z0) ^ {x}", "z0 >> u32(3)",
                                f"z0 // u32({self.rng.choice((3, 10))})", x))
        return Line((f"z0 = u32({text})",))

    # -- memory

    def own_element(self, place: Place) -> Line:
        """Memory that no other thread touches: global, shared or local; some through an atomic that gives the old value."""
        value = f"i32({self.integer(LANE, 1).text})"
        element = f"g[i * 4 + ({self.integer(LANE, 1).text} & 3)]"
        options = [(f"{element} = {value}",), (f"{element} = i32({element} + {value})",), (self.add(element),),
                   (f"pv[tid] = {value}", self.add("pv[tid]"))]
        options += [(f"v0 = cuda.atomic.{name}(pv, tid, {value})", self.add("v0")) for name in ("add", "exch")]
        if self.local:
            options += [(f"la[{self.integer(LANE, 1).text} & 7] = {value}",)] * 3
        return Line(self.rng.choice(options))

    def atomic(self, place: Place) -> Line:
        """Updates that come to the same in any order; nobody looks at the old value."""
        index, value = self.integer(LANE, 1).text, f"i32({self.integer(LANE, 1).text})"
        if self.chance(0.2):
            return Line((f"cuda.atomic.add(hd, {index} & 15, f64({value} & 255))",))
        name, array = self.rng.choice((("add", "ha"), ("add", "ha"), ("sub", "ha"), ("max", "hm"), ("min", "hn"), ("xor", "hx"),
                                       ("or_", "ho")))
        return Line((f"cuda.atomic.{name}({array}, {index} & 15, {value})",))

    def locked(self, place: Place) -> Line:
        """Take the lock, read, add and write, and give it back."""
        index, value = self.integer(LANE, 1).text, self.integer(LANE, 1).text
        found, kept = self.fresh("v"), self.rng.choice(("0", f"cuda.atomic.cas(lk, 1, {self.rng.choice((5, 6))}, 0)"))
        return Line((f"{found} = i32({value})", "while cuda.atomic.cas(lk, 0, 0, 1) != 0:", "    pass", "cuda.threadfence()",
                     f"hl[{index} & 15] = i32(hl[{index} & 15] + {found} + {kept})", "cuda.threadfence()",
                     "cuda.atomic.exch(lk, 0, 0)"))

    # -- control flow

    def divergence(self, place: Place) -> int:
        """The level of a branch to be written here."""
        return max(place.level, self.rng.choices((BLOCK, WARP, LANE), (1, 1, 4))[0])

    def branch(self, place: Place) -> Nest:
        condition, level = self.condition(self.divergence(place))
        inner = place.inside(level)
        branches = [(f"if {condition}:", self.body_of(inner))]
        if self.chance(0.25):
            condition, level = self.condition(self.divergence(place))
            inner = inner.inside(level)
            branches.append((f"elif {condition}:", self.body_of(inner, 2)))
        if self.chance(0.5):
            branches.append(("else:", self.body_of(inner)))
        return Nest(branches)

    def ladder(self, place: Place) -> Nest:
        """An if per value of one expression: compilers like to make a switch of it."""
        value = self.small(self.integer(self.divergence(place), 1), 7)
        inner = dataclasses.replace(place.inside(value.level), depth=DEEPEST)
        numbers = self.rng.sample(range(8), self.rng.randrange(3, 6))
        return Nest([(f"{'elif' if k else 'if'} {value.text} == {number}:", [self.statement(inner)])
                     for k, number in enumerate(numbers)])

    def repeat(self, place: Place) -> Line | Nest:
        most = self.rng.choice((3, 7))
        if place.budget // most < 4:
            return self.assign(place)
        trips = self.trips(self.divergence(place), most)
        level = max(trips.level, place.level, LANE if self.chance(0.4) else BLOCK)
        inner = place.inside(level, budget=place.budget // most, loop=level)
        self.serial += 1
        name = f"q{self.serial}"
        self.loops.append(Value(name, 4, level))
        nest = self.pick((3, self.counted_loop), (3, self.while_loop), (1, self.endless_loop))(name, trips.text, most, inner)
        self.loops.pop()
        if self.chance(0.1):
            nest.branches.append(("else:", self.body_of(place.inside(level), 2)))
        return nest

    def trips(self, level: int, most: int) -> Value:
        """How often a loop runs, at most ``most``: a number below 8."""
        if self.chance(0.1):
            return Value("3", 2, BLOCK)         # the compiler unrolls it
        return self.small(self.integer(level, 1), most)

    def counted_loop(self, name: str, trips: str, most: int, inner: Place) -> Nest:
        spans = (trips, trips, f"{trips}, 0, -1", f"1, {trips}, 2")
        return Nest([(f"for {name} in range({self.rng.choice(spans)}):", [*self.body_of(inner), *self.rest_for_some(inner)])])

    def while_loop(self, name: str, trips: str, most: int, inner: Place) -> Nest:
        body = [Line((f"{name} += 1",)), *self.body_of(inner), *self.rest_for_some(inner)]
        self.counters.append(name)
        if self.chance(0.4):                    # the limit is looked at anew every time
            return Nest([(f"while {name} < {trips}:", body)], (f"{name} = 0",))
        limit = self.fresh("l")
        return Nest([(f"while {name} < {limit}:", body)], (f"{name} = 0", f"{limit} = {trips}"))

    def endless_loop(self, name: str, trips: str, most: int, inner: Place) -> Nest:
        body = self.body_of(inner)
        self.counters.append(name)
        leave = Line((f"if {name} >= {most} or {self.condition(inner.level)[0]}:", "    break"))
        body.insert(self.rng.randrange(len(body) + 1), leave)
        count = Line((f"{name} += 1", f"if {name} > {most}:", "    break"))
        return Nest([("while True:", [count, *body, *self.rest_for_some(inner)])], (f"{name} = 0",))

    def rest_for_some(self, place: Place) -> list[Line | Nest]:
        """In a loop that warps go round together, single lanes may skip the rest of a round."""
        if place.level == LANE or self.left <= 0 or self.chance(0.6):
            return []
        rest = dataclasses.replace(place, level=LANE)
        return [Nest([(f"if {self.condition(LANE)[0]}:", [self.assign(rest), Line(("continue",))])]), *self.body_of(rest, 2)]

    def leave(self, place: Place) -> Line | Nest:
        if place.level > place.loop:
            return self.assign(place)
        before = self.pick((1, self.assign), (1, self.assign_in_step))(place)
        body = [before, Line((self.rng.choice(("break", "break", "continue", "continue", "continue")),))]
        return Nest([(f"if {self.condition(place.loop)[0]}:", body[self.rng.randrange(2):])])

    def finish(self, place: Place) -> Nest:
        lines = (f"oi[i] = {self.integer(LANE, 1).text}", "return")
        return Nest([(f"if {self.condition(LANE)[0]}:", [Line(lines[self.rng.randrange(2):])])])

    # -- collectives of a warp

    def shuffle(self, place: Place) -> Line:
        """A lane that is not there gives an undefined value: the ballot says whom one may read from."""
        alive = self.fresh("a")
        return Line((f"{alive} = cuda.ballot_sync(FULL, True)", *self.shuffled(alive, "FULL")))

    def shuffled(self, alive: str, mask: str) -> tuple[str, ...]:
        value = self.fresh("v")
        step = self.rng.choice((1, 2, 3, 4, 8, 16, 31))
        name, source = self.rng.choice((
            ("shfl_xor_sync", f"lane ^ {step}"), ("shfl_down_sync", f"lane + {step} if lane + {step} < 32 else lane"),
            ("shfl_up_sync", f"lane - {step} if lane >= {step} else lane"), ("shfl_sync", value + "s")))
        lines, operand = (), str(step)
        if name == "shfl_sync":
            lines, operand = (f"{source} = {self.integer(LANE if self.chance(0.6) else WARP, 1).text} & 31",), source
        given = self.rng.choice([f"i32({self.integer(LANE, 1).text})", f"i64({self.integer(LANE, 1).text})", *self.floats])
        return (*lines, f"{value} = cuda.{name}({mask}, {given}, {operand})", f"if ({alive} >> ({source})) & 1:",
                "    " + self.add(f"i64({value})"))

    def vote(self, place: Place) -> Line | Nest:
        value = self.fresh("b")
        name = self.rng.choice(("any_sync", "all_sync", "eq_sync", "ballot_sync", "match_any_sync", "syncwarp"))
        if name == "syncwarp":
            return Line(("cuda.syncwarp(FULL)",))
        if name == "match_any_sync":
            return Line((self.matched(value, "FULL"), self.add(value)))
        call = f"{value} = cuda.{name}(FULL, {self.condition(LANE)[0]})"
        if name == "ballot_sync":
            return Line((call, f"w0 = {value} & 4095" if "w0" in self.integers else self.add(value)))
        if self.chance(0.5):
            return Line((call, self.add(f"i64({value})")))
        return Nest([(f"if {value}:", self.body_of(place.inside(WARP), 2))], (call,))

    def matched(self, value: str, mask: str) -> str:
        return f"{value} = cuda.match_any_sync({mask}, i32({self.small(self.integer(LANE, 1), 3).text}))"

    def among_some(self, place: Place) -> Line:
        """A collective inside a branch, among exactly the lanes that took it."""
        taken, some, value = self.fresh("c"), self.fresh("a"), self.fresh("v")
        vote = f"{value} = cuda.{self.rng.choice(('any_sync', 'all_sync', 'ballot_sync'))}({some}, {self.condition(LANE)[0]})"
        inner = self.rng.choice((self.shuffled(some, some), (vote, self.add(f"i64({value})")),
                                 (self.matched(value, some), self.add(value))))
        return Line((f"{taken} = {self.condition(LANE)[0]}", f"{some} = cuda.ballot_sync(FULL, {taken})", f"if {taken}:",
                     *("    " + line for line in inner)))

    # -- collectives of a block

    def exchange(self, place: Place) -> Line:
        """Write shared memory, wait, and read what others wrote."""
        value = f"i32({self.integer(LANE).text})"
        write = self.rng.choice(((f"sh[tid] = {value}",), (f"if {self.condition(LANE)[0]}:", f"    sh[tid] = {value}"),
                                 (f"cuda.atomic.add(sh, ({self.integer(LANE, 1).text} & 255) % nt, {value})",)))
        level = BLOCK if self.chance(0.3) else LANE
        found = f"sh[({self.integer(level, 1).text} & 255) % nt]"
        take = f"u0 = {found} & 4095" if level == BLOCK else self.add(found)
        return Line(("cuda.syncthreads()", *write, "cuda.syncthreads()", take))

    def block_vote(self, place: Place) -> Line:
        name, value = self.rng.choice(("syncthreads_count", "syncthreads_and", "syncthreads_or")), self.fresh("e")
        return Line((f"{value} = cuda.{name}(i32({self.condition(LANE)[0]}))",
                     f"u0 = ({value} * 5 + u0) & 4095" if self.chance(0.5) else self.add(value)))
