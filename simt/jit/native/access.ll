; i32 simt_access(context, checks, site, mask, warp, addresses, exchange): 0, or 1 after a fault.
; Looks at the address of each lane in the mask (in the site's own state space), then moves its bytes between memory and
; the exchange buffer, laid out [element][lane]. Remembers the last allocation hit in the site's check group, from its first
; multiple of the access's size on: the quick check measures alignment from there. The sign bit of an end says that the range
; is read-only: a store there faults, and a group that stores anywhere never remembers it.
; Lines that begin with @ are macros of simt/jit/support.py. 700 and 716 are CUDA_ERROR_ILLEGAL_ADDRESS and _MISALIGNED_.
define i32 @simt_access(ptr %context, ptr %checks, ptr %site, i32 %mask, i32 %warp, ptr %addresses, ptr %exchange) {
entry:
  @site
  @load %shared_base shared_base i64
  @load %shared_bytes shared_bytes i64
  @load %local_base local_base i64
  @load %local_bytes local_bytes i64
  @load %starts table_starts ptr
  @load %ends table_ends ptr
  @load %count table_count i64
  %size = mul i64 %site.element, %site.elements
  %odd = sub i64 %size, 1
  %storing = icmp eq i64 %site.action, 1
  %moving = icmp ne i64 %site.action, 2
  %writing = icmp ne i64 %site.action, 0
  %asks = icmp ult i64 %site.action, 3
  %altering = and i1 %writing, %asks
  %warp64 = zext i32 %warp to i64
  %first_lane = shl i64 %warp64, 5
  br label %lanes
lanes:
  %rest = phi i32 [ %mask, %entry ], [ %rest.next, %next_lane ]
  %low = phi i64 [ 1, %entry ], [ %low.next, %next_lane ]
  %high = phi i64 [ 0, %entry ], [ %high.next, %next_lane ]
  %some = icmp ne i32 %rest, 0
  br i1 %some, label %lane, label %finish
lane:
  %number32 = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %number = zext i32 %number32 to i64
  %less = sub i32 %rest, 1
  %rest.next = and i32 %rest, %less
  %address.at = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %address.at
  %last = or i64 %address, %odd
  %low_bits = and i64 %address, %odd
  %misaligned = icmp ne i64 %low_bits, 0
  br i1 %misaligned, label %bad_alignment, label %by_space
by_space:
  switch i64 %site.space, label %table [ i64 1, label %shared  i64 2, label %local ]
shared:
  %shared.room = icmp uge i64 %shared_bytes, %size
  %shared.last = sub i64 %shared_bytes, %size
  %shared.in = icmp ule i64 %address, %shared.last
  %shared.ok = and i1 %shared.room, %shared.in
  %shared.host = add i64 %shared_base, %address
  br i1 %shared.ok, label %legal, label %bad_address
local:
  %local.room = icmp uge i64 %local_bytes, %size
  %local.last = sub i64 %local_bytes, %size
  %local.in = icmp ule i64 %address, %local.last
  %local.ok = and i1 %local.room, %local.in
  %local.lane = add i64 %first_lane, %number
  %local.frame = mul i64 %local.lane, %local_bytes
  %local.start = add i64 %local_base, %local.frame
  %local.host = add i64 %local.start, %address
  br i1 %local.ok, label %legal, label %bad_address
table:
  %known.low = icmp uge i64 %address, %low
  %known.high = icmp ult i64 %last, %high
  %known = and i1 %known.low, %known.high
  br i1 %known, label %legal, label %search
search:
  br label %halve
halve:
  %left = phi i64 [ 0, %search ], [ %left.next, %halve.body ]
  %right = phi i64 [ %count, %search ], [ %right.next, %halve.body ]
  %open = icmp ult i64 %left, %right
  br i1 %open, label %halve.body, label %found
halve.body:
  %sum = add i64 %left, %right
  %middle = lshr i64 %sum, 1
  %start.at = getelementptr i64, ptr %starts, i64 %middle
  %start = load i64, ptr %start.at
  %below = icmp ule i64 %start, %address
  %middle.next = add i64 %middle, 1
  %left.next = select i1 %below, i64 %middle.next, i64 %left
  %right.next = select i1 %below, i64 %right, i64 %middle
  br label %halve
found:
  %none = icmp eq i64 %left, 0
  br i1 %none, label %windows, label %inside
inside:
  %hit = sub i64 %left, 1
  %hit.start.at = getelementptr i64, ptr %starts, i64 %hit
  %hit.start = load i64, ptr %hit.start.at
  %hit.end.at = getelementptr i64, ptr %ends, i64 %hit
  %hit.word = load i64, ptr %hit.end.at
  %hit.end = and i64 %hit.word, 9223372036854775807
  %kept_safe = icmp slt i64 %hit.word, 0
  %spoilt = and i1 %kept_safe, %altering
  %fits = icmp ult i64 %last, %hit.end
  br i1 %fits, label %inside.all, label %windows
inside.all:
  %unlearnt = and i1 %kept_safe, %writing
  %hit.low = select i1 %unlearnt, i64 %low, i64 %hit.start
  %hit.high = select i1 %unlearnt, i64 %high, i64 %hit.end
  br i1 %spoilt, label %bad_address, label %legal
windows:
  %generic = icmp eq i64 %site.space, 3
  br i1 %generic, label %shared_window, label %bad_address
shared_window:
  %window.offset = sub i64 %address, %shared_base
  %window.room = icmp uge i64 %shared_bytes, %size
  %window.last = sub i64 %shared_bytes, %size
  %window.in = icmp ule i64 %window.offset, %window.last
  %window.ok = and i1 %window.room, %window.in
  br i1 %window.ok, label %legal, label %local_window
local_window:
  %own.lane = add i64 %first_lane, %number
  %own.frame = mul i64 %own.lane, %local_bytes
  %own.start = add i64 %local_base, %own.frame
  %own.offset = sub i64 %address, %own.start
  %own.room = icmp uge i64 %local_bytes, %size
  %own.last = sub i64 %local_bytes, %size
  %own.in = icmp ule i64 %own.offset, %own.last
  %own.ok = and i1 %own.room, %own.in
  br i1 %own.ok, label %legal, label %bad_address
legal:
  %host = phi i64 [ %shared.host, %shared ], [ %local.host, %local ], [ %address, %table ], [ %address, %inside.all ], [ %address, %shared_window ], [ %address, %local_window ]
  %low.next = phi i64 [ %low, %shared ], [ %low, %local ], [ %low, %table ], [ %hit.low, %inside.all ], [ %low, %shared_window ], [ %low, %local_window ]
  %high.next = phi i64 [ %high, %shared ], [ %high, %local ], [ %high, %table ], [ %hit.high, %inside.all ], [ %high, %shared_window ], [ %high, %local_window ]
  br i1 %moving, label %elements, label %next_lane
elements:
  br label %element
element:
  %k = phi i64 [ 0, %elements ], [ %k.next, %moved ]
  %there.offset = mul i64 %k, %site.element
  %there.address = add i64 %host, %there.offset
  %there = inttoptr i64 %there.address to ptr
  %slot.row = shl i64 %k, 5
  %slot = add i64 %slot.row, %number
  switch i64 %site.element, label %move64 [ i64 1, label %move8  i64 2, label %move16  i64 4, label %move32 ]
  @move 8
  @move 16
  @move 32
  @move 64
moved:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %site.elements
  br i1 %more, label %element, label %next_lane
next_lane:
  br label %lanes
finish:
  %low.sum = add i64 %low, %odd
  %low.clear = xor i64 %odd, -1
  %low.even = and i64 %low.sum, %low.clear
  %room = sub i64 %high, %low.even
  %cached = icmp uge i64 %high, %low.even
  %roomy = icmp uge i64 %room, %site.extent
  %keep = and i1 %cached, %roomy
  br i1 %keep, label %remember, label %done
remember:
  %group.first.index = shl i64 %site.group, 1
  %group.first.at = getelementptr i64, ptr %checks, i64 %group.first.index
  %group.first = sub i64 %low.even, %site.low
  store i64 %group.first, ptr %group.first.at
  %group.span.index = add i64 %group.first.index, 1
  %group.span.at = getelementptr i64, ptr %checks, i64 %group.span.index
  %spare = sub i64 %room, %site.extent
  %log = call i64 @llvm.cttz.i64(i64 %size, i1 true)
  %group.span = lshr i64 %spare, %log
  store i64 %group.span, ptr %group.span.at
  br label %done
done:
  ret i32 0
bad_alignment:
  br label %fault
bad_address:
  br label %fault
fault:
  %code = phi i64 [ 716, %bad_alignment ], [ 700, %bad_address ]
  %mask64 = zext i32 %mask to i64
  @put fault_code %code
  @put fault_site %site.index
  @put fault_lane %number
  @put fault_warp %warp64
  @put fault_address %address
  @put fault_mask %mask64
  @load %stop stop ptr
  store atomic i32 1, ptr %stop monotonic, align 4
  ret i32 1
}
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.cttz.i64(i64, i1)

; The same for an address that is a base per half warp plus constants.
define i32 @simt_access_shaped(ptr %context, ptr %checks, ptr %site, i32 %mask, i32 %warp, i64 %low, i64 %high, i64 %offset, ptr %pattern, ptr %addresses, ptr %exchange) {
entry:
  br label %lane
lane:
  %k = phi i64 [ 0, %entry ], [ %next, %lane ]
  %upper = icmp uge i64 %k, 16
  %base = select i1 %upper, i64 %high, i64 %low
  %start = add i64 %base, %offset
  %step.at = getelementptr i64, ptr %pattern, i64 %k
  %step = load i64, ptr %step.at
  %address = add i64 %start, %step
  %address.at = getelementptr i64, ptr %addresses, i64 %k
  store i64 %address, ptr %address.at
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %lane, label %access
access:
  %failed = call i32 @simt_access(ptr %context, ptr %checks, ptr %site, i32 %mask, i32 %warp, ptr %addresses, ptr %exchange)
  ret i32 %failed
}
