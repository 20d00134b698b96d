"""Instructions that exchange values between the lanes of a warp, and barriers.

The oracles of this group take lists of 32 lane values and the set of lanes that run, and return the lanes' results.
"""
from __future__ import annotations

import functools
import operator

from simt.isa.table import Form, Unsupported, WarpRow, register

ALL = tuple(range(32))
SOME = (1, 2, 3, 5, 8, 13, 21, 30)
COMMUNICATION = "Parallel Synchronization and Communication: "


def shuffled(form: Form, values: list[int], amounts: list[int], clamp: int, running) -> list[tuple[int, bool]]:
    """shfl.sync: (value, in range) per lane, by the pseudo-code of the PTX ISA."""
    found = []
    for lane in ALL:
        step, bound, segment = amounts[lane] & 31, clamp & 31, clamp >> 8 & 31
        last = (lane & segment) | (bound & ~segment)
        first = lane & segment
        source = {"up": lane - step, "down": lane + step, "bfly": lane ^ step, "idx": first | (step & ~segment & 31)}
        j = source[form.parts[2]]
        inside = j >= last if form.has("up") else j <= last
        found.append((values[j if inside else lane], inside))
    return found


def voted(form: Form, predicates: list[bool], running) -> int | bool:
    if form.has("ballot"):
        return sum(1 << lane for lane in running if predicates[lane])
    votes = [predicates[lane] for lane in running]
    return {"all": all(votes), "any": any(votes), "uni": all(votes) or not any(votes)}[form.parts[2]]


def matched(form: Form, values: list[int], running) -> list[int]:
    same = [sum(1 << lane for lane in running if values[lane] == value) for value in values]
    if form.has("any"):
        return same
    everyone = sum(1 << lane for lane in running)
    return [everyone if group == everyone else 0 for group in same]


def reduced(form: Form, values: list[int], running) -> int:
    """redux.sync: values are unsigned bit patterns."""
    used = [values[lane] for lane in running]
    if form.type == "s32":
        used = [v - (1 << 32) if v >> 31 else v for v in used]
    function = {"add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor, "min": min, "max": max}
    return functools.reduce(function[form.parts[2]], used) & 0xFFFFFFFF


def barrier(warp, node) -> None:
    if len(node.operands) > (2 if "red" in node.form.parts else 1):
        raise Unsupported(f"{node.opcode} with a number of threads: barriers are for whole blocks", node.line)
    warp.warp.barrier_vote(node)


register([
    WarpRow("shfl.sync.{up,down,bfly,idx}.b32", lambda warp, node: warp.warp.shuffle(node), shuffled, (ALL, SOME),
            "Data Movement and Conversion: shfl.sync", "warp", operands=lambda f: ("b32", "u32", "u32", "u32"),
            results=lambda f: ("b32", "pred")),
    WarpRow("vote.sync.{all,any,uni}.pred", lambda warp, node: warp.warp.vote(node), voted, (ALL, SOME),
            COMMUNICATION + "vote.sync", "warp", "uniform", operands=lambda f: ("pred", "u32"), results=lambda f: ("pred",)),
    WarpRow("vote.sync.ballot.b32", lambda warp, node: warp.warp.vote(node), voted, (ALL, SOME),
            COMMUNICATION + "vote.sync", "warp", "uniform", operands=lambda f: ("pred", "u32"), results=lambda f: ("b32",)),
    WarpRow("match.{any,all}.sync.{b32,b64}", lambda warp, node: warp.warp.match(node), matched, (ALL, SOME),
            COMMUNICATION + "match.sync", "warp", operands=lambda f: (f.type, "u32"), results=lambda f: ("b32", "pred")),
    WarpRow("redux.sync.{add,min,max}.{u32,s32}", lambda warp, node: warp.warp.reduce(node), reduced, (ALL, SOME),
            COMMUNICATION + "redux.sync", "warp", "uniform", operands=lambda f: (f.type, "u32")),
    WarpRow("redux.sync.{and,or,xor}.b32", lambda warp, node: warp.warp.reduce(node), reduced, (ALL, SOME),
            COMMUNICATION + "redux.sync", "warp", "uniform", operands=lambda f: (f.type, "u32")),
    WarpRow("activemask.b32", lambda warp, node: warp.warp.active_mask(node),
            lambda form, running: sum(1 << i for i in running), (ALL, SOME), COMMUNICATION + "activemask", "warp", "uniform",
            operands=lambda form: ()),
    WarpRow("bar.warp.sync", lambda warp, node: warp.warp.sync_warp(node), lambda form, running: None, (ALL, SOME),
            COMMUNICATION + "bar.warp.sync", "barrier", operands=lambda f: ("u32",)),
    WarpRow("{bar.sync,barrier.sync,barrier.sync.aligned,bar.cta.sync,barrier.cta.sync,barrier.cta.sync.aligned}", barrier,
            lambda form, running: None, (ALL, SOME), COMMUNICATION + "bar.sync", "barrier", operands=lambda f: ()),
    WarpRow("{bar.red,barrier.red,barrier.red.aligned,bar.cta.red,barrier.cta.red.aligned}.popc.u32", barrier,
            lambda form, predicates, running: sum(predicates[i] for i in running), (ALL, SOME), COMMUNICATION + "bar.red",
            "barrier", "uniform", operands=lambda f: ("u32",), results=lambda f: ("u32",)),
    WarpRow("{bar.red,barrier.red,barrier.red.aligned,bar.cta.red,barrier.cta.red.aligned}.{and,or}.pred", barrier,
            lambda form, predicates, running: (all if form.has("and") else any)(predicates[i] for i in running), (ALL, SOME),
            COMMUNICATION + "bar.red", "barrier", "uniform", operands=lambda f: ("u32",), results=lambda f: ("pred",)),
])
