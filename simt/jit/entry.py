"""The native entry points: run_blocks takes blocks from a counter that the workers share; run_grid holds all blocks of a
cooperative launch and takes them from grid barrier to grid barrier. Both run a block's warps from barrier to barrier."""
from __future__ import annotations

from simt.ir.shapes import WARP
from simt.jit.context import INDEX
from simt.jit.turns import TURN

POISON = 0x7FBADBAD         # what a block finds in shared memory: simt/runtime/worker.py


def at(name: str, register: str) -> str:
    return f"  {register} = getelementptr i64, ptr %context, i64 {INDEX[name]}\n"


def get(name: str, kind: str = "i64") -> str:
    return at(name, f"%{name}.at") + f"  %{name} = load {kind}, ptr %{name}.at\n"


def entry_points(threads: int, state_bytes: int, grid_barriers: list[bool], barrier_kinds: list[int]) -> str:
    """IR of both for blocks of ``threads`` threads. By barrier number - 1: whether all blocks meet there, and the number of the
    barrier that it is a copy of, by the compiler's unrolling."""
    warps = -(-threads // WARP)
    last = (1 << (threads % WARP)) - 1 if threads % WARP else -1
    flags = ", ".join(f"i8 {int(flag)}" for flag in [False, *grid_barriers])
    table = f"@grid_barriers = internal constant [{len(grid_barriers) + 1} x i8] [{flags}]"
    kinds = ", ".join(f"i32 {kind}" for kind in [0, *barrier_kinds])
    table += f"\n@barrier_kinds = internal constant [{len(barrier_kinds) + 1} x i32] [{kinds}]"
    return "\n".join([table, begin_block(warps, last, state_bytes), run_block(warps, state_bytes), RUN_BLOCKS, RUN_GRID])


def begin_block(warps: int, last: int, state_bytes: int) -> str:
    """Set the block's place, poison its shared memory, and put every warp at its start."""
    return f"""
define internal void @begin_block(ptr %context, i64 %linear, ptr %states) #0 {{
entry:
{get("nctaid_x")}{get("nctaid_y")}{get("shared_base", "ptr")}{get("shared_stride")}\
{at("ctaid_x", "%x.at")}{at("ctaid_y", "%y.at")}{at("ctaid_z", "%z.at")}{at("block", "%block.at")}\
{get("nctaid_z")}{get("watch_stride")}{at("watched", "%watched.at")}{at("epoch", "%epoch.at")}\
{at("ended_warps", "%ended_warps.at")}\
  %x = urem i64 %linear, %nctaid_x
  %rows = udiv i64 %linear, %nctaid_x
  %y = urem i64 %rows, %nctaid_y
  %z = udiv i64 %rows, %nctaid_y
  store i64 %x, ptr %x.at
  store i64 %y, ptr %y.at
  store i64 %z, ptr %z.at
  store i64 %linear, ptr %block.at
  %unwatched = urem i64 %linear, %watch_stride
  %on_stride = icmp eq i64 %unwatched, 0
  %after = add i64 %linear, 1
  %blocks0 = mul i64 %nctaid_x, %nctaid_y
  %blocks = mul i64 %blocks0, %nctaid_z
  %is_last_block = icmp eq i64 %after, %blocks
  %is_watched = or i1 %on_stride, %is_last_block
  %watched = zext i1 %is_watched to i64
  store i64 %watched, ptr %watched.at
  store i64 0, ptr %epoch.at
  store i64 0, ptr %ended_warps.at
  br label %poison
poison:
  %offset = phi i64 [ 0, %entry ], [ %offset.next, %poison ]
  %there = getelementptr i8, ptr %shared_base, i64 %offset
  store <16 x i32> splat (i32 {POISON}), ptr %there, align 64
  %offset.next = add i64 %offset, 64
  %more = icmp ult i64 %offset.next, %shared_stride
  br i1 %more, label %poison, label %prepare
prepare:
  %w = phi i32 [ 0, %poison ], [ %w.next, %prepare ]
  %state.offset = mul i32 %w, {state_bytes}
  %state = getelementptr i8, ptr %states, i32 %state.offset
  %is_last = icmp eq i32 %w, {warps - 1}
  %lanes = select i1 %is_last, i32 {last}, i32 -1
  store i32 0, ptr %state
  %alive = getelementptr i8, ptr %state, i64 8
  store i32 %lanes, ptr %alive
  %w.next = add i32 %w, 1
  %w.more = icmp ult i32 %w.next, {warps}
  br i1 %w.more, label %prepare, label %done
done:
  ret void
}}"""


def run_block(warps: int, state_bytes: int) -> str:
    """Run a block until its warps have ended (0), wait at a grid barrier (1), or the launch fails or stops (-1).

    A round runs every warp until it ends or stands at a barrier; those that return TURN run again, after all the others.
    """
    return f"""
define internal i32 @run_block(ptr %context, ptr %states) #0 {{
entry:
{get("stop", "ptr")}{get("params", "ptr")}{get("counters", "ptr")}{get("checks", "ptr")}{get("warp_order", "ptr")}\
{at("arrived_count", "%count.at")}{at("arrived_all", "%all.at")}{at("arrived_any", "%any.at")}\
{at("result_count", "%count.out")}{at("result_all", "%all.out")}{at("result_any", "%any.out")}\
{at("fault_code", "%fault.at")}{at("fault_site", "%fault.site")}\
{at("fault_lane", "%fault.one")}{at("fault_extra", "%fault.two")}\
{at("epoch", "%epoch.at")}{at("ended_warps", "%ended_warps.at")}\
  br label %round
round:
  store i64 0, ptr %count.at
  store i64 -1, ptr %all.at
  store i64 0, ptr %any.at
  br label %warps
warps:
  %turn = phi i64 [ 0, %round ], [ %turn.next, %warp_end ], [ 0, %again_all ]
  %where = phi i32 [ 0, %round ], [ %where.next, %warp_end ], [ 0, %again_all ]
  %apart = phi i32 [ 0, %round ], [ %apart.next, %warp_end ], [ 0, %again_all ]
  %again = phi i1 [ false, %round ], [ %again.next, %warp_end ], [ false, %again_all ]
  %first = phi i1 [ true, %round ], [ %first, %warp_end ], [ false, %again_all ]
  %gone = phi i64 [ 0, %round ], [ %gone.next, %warp_end ], [ 0, %again_all ]
  %order.at = getelementptr i64, ptr %warp_order, i64 %turn
  %w64 = load i64, ptr %order.at
  %w = trunc i64 %w64 to i32
  %offset = mul i32 %w, {state_bytes}
  %state = getelementptr i8, ptr %states, i32 %offset
  %status = load i32, ptr %state
  %ended = icmp eq i32 %status, -1
  br i1 %ended, label %warp_end, label %warp_look
warp_look:
  %looks = icmp eq i32 %status, {TURN}
  %due = or i1 %first, %looks
  br i1 %due, label %warp_run, label %warp_end
warp_run:
  %result = call i32 @run_warp(ptr %state, ptr %params, ptr %context, ptr %counters, ptr %checks, i32 %w)
  %bad = icmp slt i32 %result, 0
  br i1 %bad, label %failed, label %warp_ok
warp_ok:
  %unsettled = icmp eq i32 %result, {TURN}
  %settled = select i1 %unsettled, i32 0, i32 %result
  %ended.now = icmp eq i32 %result, 0
  br label %warp_end
warp_end:
  %stands = phi i32 [ 0, %warps ], [ %status, %warp_look ], [ %settled, %warp_ok ]
  %waits_on = phi i1 [ false, %warps ], [ false, %warp_look ], [ %unsettled, %warp_ok ]
  %ends = phi i1 [ true, %warps ], [ false, %warp_look ], [ %ended.now, %warp_ok ]
  %again.next = or i1 %again, %waits_on
  %ends.one = zext i1 %ends to i64
  %gone.next = add i64 %gone, %ends.one
  %waits = icmp ne i32 %stands, 0
  %has = icmp ne i32 %where, 0
  %both = and i1 %waits, %has
  %stands.at = getelementptr i32, ptr @barrier_kinds, i32 %stands
  %stands.kind = load i32, ptr %stands.at
  %where.at = getelementptr i32, ptr @barrier_kinds, i32 %where
  %where.kind = load i32, ptr %where.at
  %differs = icmp ne i32 %stands.kind, %where.kind
  %conflict = and i1 %both, %differs
  %apart.next = select i1 %conflict, i32 %stands, i32 %apart
  %where.next = select i1 %has, i32 %where, i32 %stands
  %turn.next = add i64 %turn, 1
  %more = icmp ult i64 %turn.next, {warps}
  br i1 %more, label %warps, label %round_end
round_end:
  br i1 %again.next, label %again_all, label %round_over
again_all:
  br label %warps
round_over:
  %waiting = icmp ne i32 %where.next, 0
  br i1 %waiting, label %release, label %done
release:
  %wrong = icmp ne i32 %apart.next, 0
  br i1 %wrong, label %conflicting, label %deliver
deliver:
  store i64 %gone.next, ptr %ended_warps.at
  %epoch = load i64, ptr %epoch.at
  %epoch.next = add i64 %epoch, 1
  store i64 %epoch.next, ptr %epoch.at
  %count.value = load i64, ptr %count.at
  store i64 %count.value, ptr %count.out
  %all.value = load i64, ptr %all.at
  store i64 %all.value, ptr %all.out
  %any.value = load i64, ptr %any.at
  store i64 %any.value, ptr %any.out
  %grid.at = getelementptr i8, ptr @grid_barriers, i32 %where.next
  %grid = load i8, ptr %grid.at
  %meets = icmp ne i8 %grid, 0
  br i1 %meets, label %suspended, label %round
conflicting:
  store i64 719, ptr %fault.at
  store i64 -2, ptr %fault.site
  %one = zext i32 %where.next to i64
  store i64 %one, ptr %fault.one
  %two = zext i32 %apart.next to i64
  store i64 %two, ptr %fault.two
  store atomic i32 1, ptr %stop monotonic, align 4
  br label %failed
done:
  ret i32 0
suspended:
  ret i32 1
failed:
  ret i32 -1
}}"""


RUN_BLOCKS = f"""
define void @run_blocks(ptr %context) #0 {{
entry:
{get("stop", "ptr")}{get("next_block", "ptr")}{get("block_count")}{get("block_list", "ptr")}{get("chunk")}\
{get("states", "ptr")}\
  %listed = icmp ne ptr %block_list, null
  br label %take
take:
  %first = atomicrmw add ptr %next_block, i64 %chunk monotonic
  %until0 = add i64 %first, %chunk
  %until = call i64 @llvm.umin.i64(i64 %until0, i64 %block_count)
  %work = icmp ult i64 %first, %block_count
  br i1 %work, label %block, label %end
block:
  %index = phi i64 [ %first, %take ], [ %index.next, %next ]
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
  call void @begin_block(ptr %context, i64 %linear, ptr %states)
  %result = call i32 @run_block(ptr %context, ptr %states)
  %bad = icmp slt i32 %result, 0
  br i1 %bad, label %end, label %next
next:
  %index.next = add i64 %index, 1
  %more = icmp ult i64 %index.next, %until
  br i1 %more, label %block, label %take
end:
  ret void
}}
declare i64 @llvm.umin.i64(i64, i64)"""

# Blocks keep their states, shared and local memory between grid barriers; status: 0 not begun, 1 waiting, 2 ended. A block
# that ended is excused from later grid barriers.
RUN_GRID = f"""
define void @run_grid(ptr %context) #0 {{
entry:
{get("stop", "ptr")}{get("block_count")}{get("block_list", "ptr")}{get("states", "ptr")}{get("state_stride")}\
{get("shared_arena")}{get("shared_stride")}{get("local_arena")}{get("local_stride")}{get("status", "ptr")}\
{at("shared_base", "%shared.at")}{at("local_base", "%local.at")}\
{at("ctaid_x", "%x.at")}{at("ctaid_y", "%y.at")}{at("ctaid_z", "%z.at")}{at("block", "%block.at")}\
{get("nctaid_x")}{get("nctaid_y")}{at("phase", "%phase.at")}\
  br label %phase
phase:
  br label %block
block:
  %turn = phi i64 [ 0, %phase ], [ %turn.next, %next ]
  %waiting = phi i64 [ 0, %phase ], [ %waiting.next, %next ]
  %flag = load volatile i32, ptr %stop
  %stopped = icmp ne i32 %flag, 0
  br i1 %stopped, label %end, label %look
look:
  %linear.at = getelementptr i64, ptr %block_list, i64 %turn
  %linear = load i64, ptr %linear.at
  %state.at = getelementptr i32, ptr %status, i64 %linear
  %state = load i32, ptr %state.at
  %over = icmp eq i32 %state, 2
  br i1 %over, label %next, label %place
place:
  %shared.offset = mul i64 %linear, %shared_stride
  %shared = add i64 %shared_arena, %shared.offset
  store i64 %shared, ptr %shared.at
  %local.offset = mul i64 %linear, %local_stride
  %local = add i64 %local_arena, %local.offset
  store i64 %local, ptr %local.at
  %states.offset = mul i64 %linear, %state_stride
  %mine = getelementptr i8, ptr %states, i64 %states.offset
  %fresh = icmp eq i32 %state, 0
  br i1 %fresh, label %begin, label %return
begin:
  call void @begin_block(ptr %context, i64 %linear, ptr %mine)
  br label %go
return:
  %x = urem i64 %linear, %nctaid_x
  %rows = udiv i64 %linear, %nctaid_x
  %y = urem i64 %rows, %nctaid_y
  %z = udiv i64 %rows, %nctaid_y
  store i64 %x, ptr %x.at
  store i64 %y, ptr %y.at
  store i64 %z, ptr %z.at
  store i64 %linear, ptr %block.at
  br label %go
go:
  %result = call i32 @run_block(ptr %context, ptr %mine)
  %bad = icmp slt i32 %result, 0
  br i1 %bad, label %end, label %keep
keep:
  %ended = icmp eq i32 %result, 0
  %status.new = select i1 %ended, i32 2, i32 1
  store i32 %status.new, ptr %state.at
  %one = zext i32 %result to i64
  br label %next
next:
  %adds = phi i64 [ 0, %look ], [ %one, %keep ]
  %waiting.next = add i64 %waiting, %adds
  %turn.next = add i64 %turn, 1
  %more = icmp ult i64 %turn.next, %block_count
  br i1 %more, label %block, label %phase_end
phase_end:
  %phase.old = load i64, ptr %phase.at
  %phase.new = add i64 %phase.old, 1
  store i64 %phase.new, ptr %phase.at
  %again = icmp ne i64 %waiting.next, 0
  br i1 %again, label %phase, label %end
end:
  ret void
}}"""
