"""run_blocks: takes blocks from the counter that the workers share, and runs the warps of each from barrier to barrier."""
from __future__ import annotations

from simt.ir.shapes import WARP
from simt.jit.context import INDEX


def at(name: str, register: str) -> str:
    return f"  {register} = getelementptr i64, ptr %context, i64 {INDEX[name]}\n"


def get(name: str, kind: str = "i64") -> str:
    return at(name, f"%{name}.at") + f"  %{name} = load {kind}, ptr %{name}.at\n"


def run_blocks(threads: int, state_bytes: int, after_block: str = "") -> str:
    """IR of ``void run_blocks(ptr context)`` for blocks of ``threads`` threads; ``after_block``: IR run after each block."""
    warps = -(-threads // WARP)
    last = (1 << (threads % WARP)) - 1 if threads % WARP else -1
    return f"""
define void @run_blocks(ptr noalias %context) #0 {{
entry:
{get("stop", "ptr")}{get("next_block", "ptr")}{get("block_count")}{get("block_list", "ptr")}{get("chunk")}{get("nctaid_x")}\
{get("nctaid_y")}{get("states", "ptr")}{get("params", "ptr")}{get("counters", "ptr")}{get("checks", "ptr")}\
{at("ctaid_x", "%x.at")}{at("ctaid_y", "%y.at")}{at("ctaid_z", "%z.at")}{at("block", "%block.at")}\
{at("arrived_count", "%count.at")}{at("arrived_all", "%all.at")}{at("arrived_any", "%any.at")}\
{at("result_count", "%count.out")}{at("result_all", "%all.out")}{at("result_any", "%any.out")}\
{at("fault_code", "%fault.at")}{at("fault_site", "%fault.site")}\
{at("fault_lane", "%fault.one")}{at("fault_extra", "%fault.two")}\
  %listed = icmp ne ptr %block_list, null
  br label %take
take:
  %first = atomicrmw add ptr %next_block, i64 %chunk monotonic
  %until0 = add i64 %first, %chunk
  %until = call i64 @llvm.umin.i64(i64 %until0, i64 %block_count)
  %work = icmp ult i64 %first, %block_count
  br i1 %work, label %block, label %end
block:
  %index = phi i64 [ %first, %take ], [ %index.next, %block_end ]
  %flag = load volatile i32, ptr %stop
  %stopped = icmp ne i32 %flag, 0
  br i1 %stopped, label %end, label %locate
locate:
  br i1 %listed, label %look_up, label %place
look_up:
  %entry.at = getelementptr i64, ptr %block_list, i64 %index
  %entry.value = load i64, ptr %entry.at
  br label %place
place:
  %linear = phi i64 [ %index, %locate ], [ %entry.value, %look_up ]
  %x = urem i64 %linear, %nctaid_x
  %rows = udiv i64 %linear, %nctaid_x
  %y = urem i64 %rows, %nctaid_y
  %z = udiv i64 %rows, %nctaid_y
  store i64 %x, ptr %x.at
  store i64 %y, ptr %y.at
  store i64 %z, ptr %z.at
  store i64 %linear, ptr %block.at
  br label %prepare
prepare:
  %w0 = phi i32 [ 0, %place ], [ %w0.next, %prepare ]
  %w0.offset = mul i32 %w0, {state_bytes}
  %w0.state = getelementptr i8, ptr %states, i32 %w0.offset
  %is_last = icmp eq i32 %w0, {warps - 1}
  %lanes = select i1 %is_last, i32 {last}, i32 -1
  store i32 0, ptr %w0.state
  %w0.alive = getelementptr i8, ptr %w0.state, i64 8
  store i32 %lanes, ptr %w0.alive
  %w0.next = add i32 %w0, 1
  %w0.more = icmp ult i32 %w0.next, {warps}
  br i1 %w0.more, label %prepare, label %round
round:
  store i64 0, ptr %count.at
  store i64 -1, ptr %all.at
  store i64 0, ptr %any.at
  br label %warps
warps:
  %w = phi i32 [ 0, %round ], [ %w.next, %warp_end ]
  %where = phi i32 [ 0, %round ], [ %where.next, %warp_end ]
  %apart = phi i32 [ 0, %round ], [ %apart.next, %warp_end ]
  %offset = mul i32 %w, {state_bytes}
  %state = getelementptr i8, ptr %states, i32 %offset
  %status = load i32, ptr %state
  %ended = icmp eq i32 %status, -1
  br i1 %ended, label %warp_end, label %warp_run
warp_run:
  %result = call i32 @run_warp(ptr %state, ptr %params, ptr %context, ptr %counters, ptr %checks, i32 %w)
  %bad = icmp slt i32 %result, 0
  br i1 %bad, label %end, label %warp_ok
warp_ok:
  br label %warp_end
warp_end:
  %stands = phi i32 [ 0, %warps ], [ %result, %warp_ok ]
  %waits = icmp ne i32 %stands, 0
  %has = icmp ne i32 %where, 0
  %both = and i1 %waits, %has
  %differs = icmp ne i32 %stands, %where
  %conflict = and i1 %both, %differs
  %apart.next = select i1 %conflict, i32 %stands, i32 %apart
  %where.next = select i1 %waits, i32 %stands, i32 %where
  %w.next = add i32 %w, 1
  %w.more = icmp ult i32 %w.next, {warps}
  br i1 %w.more, label %warps, label %round_end
round_end:
  %waiting = icmp ne i32 %where.next, 0
  br i1 %waiting, label %release, label %block_end
release:
  %wrong = icmp ne i32 %apart.next, 0
  br i1 %wrong, label %conflicting, label %deliver
deliver:
  %count.value = load i64, ptr %count.at
  store i64 %count.value, ptr %count.out
  %all.value = load i64, ptr %all.at
  store i64 %all.value, ptr %all.out
  %any.value = load i64, ptr %any.at
  store i64 %any.value, ptr %any.out
  br label %round
conflicting:
  store i64 719, ptr %fault.at
  store i64 -2, ptr %fault.site
  %one = zext i32 %where.next to i64
  store i64 %one, ptr %fault.one
  %two = zext i32 %apart.next to i64
  store i64 %two, ptr %fault.two
  store atomic i32 1, ptr %stop monotonic, align 4
  br label %end
block_end:
{after_block}
  %index.next = add i64 %index, 1
  %more = icmp ult i64 %index.next, %until
  br i1 %more, label %block, label %take
end:
  ret void
}}
declare i64 @llvm.umin.i64(i64, i64)
"""
