; i32 simt_new_sectors(context, addresses, mask, kind): sectors that this block touches for the first time.
; A set of sectors per worker: ``sector_capacity`` (a power of two) pairs of (key, owner). A key is the sector's number with
; the kind of access in its lowest bit; the owner is the number of the launch and of the block, so a new block finds the set
; empty.
; The places of the 32 sectors of one KiB lie side by side; a probe goes to another KiB's.
; No place in 64 probes counts as new, and says so in ``sectors_crowded``: the count is an estimate then.
define i32 @simt_new_sectors(ptr %context, ptr %addresses, i32 %mask, i64 %kind) {
entry:
  @load %table sector_set ptr
  @load %capacity sector_capacity i64
  @load %block block i64
  @load %launch grid_id i64
  %high = shl i64 %launch, 32
  %low = add i64 %block, 1
  %owner = or i64 %high, %low
  %wrap = sub i64 %capacity, 1
  br label %lanes
lanes:
  %rest = phi i32 [ %mask, %entry ], [ %rest.next, %next ]
  %count = phi i32 [ 0, %entry ], [ %count.next, %next ]
  %before = phi i64 [ -1, %entry ], [ %key, %next ]
  %some = icmp ne i32 %rest, 0
  br i1 %some, label %lane, label %done
lane:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %less = sub i32 %rest, 1
  %rest.next = and i32 %rest, %less
  %at = getelementptr i64, ptr %addresses, i32 %number
  %address = load i64, ptr %at
  %sector = lshr i64 %address, 5
  %twice = shl i64 %sector, 1
  %key = or i64 %twice, %kind
  %repeat = icmp eq i64 %key, %before
  br i1 %repeat, label %next, label %hash
hash:
  %chunk = lshr i64 %sector, 5
  %chunk.kind = shl i64 %chunk, 1
  %chunk.key = or i64 %chunk.kind, %kind
  %spread = mul i64 %chunk.key, -7046029254386353131
  %high.part = lshr i64 %spread, 32
  %chunk.at = shl i64 %high.part, 5
  %inside = and i64 %sector, 31
  %start = or i64 %chunk.at, %inside
  br label %probe
probe:
  %k = phi i64 [ 0, %hash ], [ %k.next, %collide ]
  %step = mul i64 %k, 33
  %place0 = add i64 %start, %step
  %place = and i64 %place0, %wrap
  %pair = shl i64 %place, 1
  %key.at = getelementptr i64, ptr %table, i64 %pair
  %owner.at = getelementptr i64, ptr %key.at, i64 1
  %old.owner = load i64, ptr %owner.at
  %ours = icmp eq i64 %old.owner, %owner
  br i1 %ours, label %compare, label %insert
compare:
  %old.key = load i64, ptr %key.at
  %same = icmp eq i64 %old.key, %key
  br i1 %same, label %next, label %collide
collide:
  %k.next = add i64 %k, 1
  %far = icmp uge i64 %k.next, 64
  br i1 %far, label %full, label %probe
insert:
  store i64 %key, ptr %key.at
  store i64 %owner, ptr %owner.at
  br label %new
full:
  @put sectors_crowded 1
  br label %new
new:
  call void @simt_touch(ptr %context, i64 %address, i64 %kind)
  %more = add i32 %count, 1
  br label %next
next:
  %count.next = phi i32 [ %count, %lane ], [ %count, %compare ], [ %more, %new ]
  br label %lanes
done:
  ret i32 %count
}

; void simt_touch(context, address, kind): mark the allocation that holds the address, in its byte for this kind of access.
define void @simt_touch(ptr %context, i64 %address, i64 %kind) {
entry:
  @load %touched touched ptr
  @load %starts table_starts ptr
  @load %count table_count i64
  br label %search
search:
  %low = phi i64 [ 0, %entry ], [ %low.next, %look ]
  %high = phi i64 [ %count, %entry ], [ %high.next, %look ]
  %open = icmp ult i64 %low, %high
  br i1 %open, label %look, label %found
look:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %start.at = getelementptr i64, ptr %starts, i64 %middle
  %start = load i64, ptr %start.at
  %below = icmp ule i64 %start, %address
  %after = add i64 %middle, 1
  %low.next = select i1 %below, i64 %after, i64 %low
  %high.next = select i1 %below, i64 %high, i64 %middle
  br label %search
found:
  %some = icmp ne i64 %low, 0
  br i1 %some, label %mark, label %done
mark:
  %index = sub i64 %low, 1
  %twice = shl i64 %index, 1
  %place = or i64 %twice, %kind
  %byte = getelementptr i8, ptr %touched, i64 %place
  store i8 1, ptr %byte
  br label %done
done:
  ret void
}
