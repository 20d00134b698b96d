; Counting over the addresses of one access. ``slots`` points at an observer's consecutive counters.

; i32 simt_distinct(addresses, mask, shift): distinct values of address >> shift among the lanes in the mask.
; Keys lie in 32 buckets by their low bits, so neighbouring sectors and lines never meet.
define i32 @simt_distinct(ptr %addresses, i32 %mask, i64 %shift) {
entry:
  %seen = alloca [1024 x i64]
  %fill = alloca [32 x i64]
  call void @llvm.memset.p0.i64(ptr %fill, i8 0, i64 256, i1 false)
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
  %key = lshr i64 %address, %shift
  %repeat = icmp eq i64 %key, %before
  br i1 %repeat, label %known, label %search
search:
  %bucket = and i64 %key, 31
  %fill.at = getelementptr i64, ptr %fill, i64 %bucket
  %filled = load i64, ptr %fill.at
  %first = shl i64 %bucket, 5
  %list = getelementptr i64, ptr %seen, i64 %first
  br label %look
look:
  %k = phi i64 [ %filled, %search ], [ %k.less, %compare ]
  %left = icmp ne i64 %k, 0
  br i1 %left, label %compare, label %new
compare:
  %k.less = sub i64 %k, 1
  %old.at = getelementptr i64, ptr %list, i64 %k.less
  %old = load i64, ptr %old.at
  %same = icmp eq i64 %old, %key
  br i1 %same, label %known, label %look
known:
  br label %next
new:
  %new.at = getelementptr i64, ptr %list, i64 %filled
  store i64 %key, ptr %new.at
  %filled.next = add i64 %filled, 1
  store i64 %filled.next, ptr %fill.at
  %more = add i32 %count, 1
  br label %next
next:
  %count.next = phi i32 [ %count, %known ], [ %more, %new ]
  br label %lanes
done:
  ret i32 %count
}

; i32 simt_bank_wavefronts(addresses, mask, bytes): wavefronts of an access to 32 banks of 4 bytes. Each group of lanes whose
; data fill one wavefront (all 32, a half, a quarter) takes as many as its busiest bank has distinct words: CUDA C++
; Programming Guide, "Shared Memory" of compute capability 5.x, which later ones follow.
define i32 @simt_bank_wavefronts(ptr %addresses, i32 %mask, i64 %bytes) {
entry:
  %words = alloca [2048 x i64]
  %load = alloca [32 x i32]
  %wide = icmp ugt i64 %bytes, 4
  %per = udiv i64 128, %bytes
  %lanes_per64 = select i1 %wide, i64 %per, i64 32
  %lanes_per = trunc i64 %lanes_per64 to i32
  %words_each = lshr i64 %bytes, 2
  %at_least = call i64 @llvm.umax.i64(i64 %words_each, i64 1)
  %is_all = icmp eq i32 %lanes_per, 32
  %bit = shl i32 1, %lanes_per
  %ones = sub i32 %bit, 1
  %group_mask = select i1 %is_all, i32 -1, i32 %ones
  br label %groups
groups:
  %start = phi i32 [ 0, %entry ], [ %start.next, %group_done ]
  %total = phi i32 [ 0, %entry ], [ %total.next, %group_done ]
  %go = icmp ult i32 %start, 32
  br i1 %go, label %group, label %done
group:
  %window = shl i32 %group_mask, %start
  %active = and i32 %mask, %window
  call void @llvm.memset.p0.i64(ptr %load, i8 0, i64 128, i1 false)
  br label %lanes
lanes:
  %rest = phi i32 [ %active, %group ], [ %rest.next, %lane_done ]
  %worst = phi i32 [ 0, %group ], [ %worst.lane, %lane_done ]
  %some = icmp ne i32 %rest, 0
  br i1 %some, label %lane, label %group_done
lane:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %less = sub i32 %rest, 1
  %rest.next = and i32 %rest, %less
  %at = getelementptr i64, ptr %addresses, i32 %number
  %address = load i64, ptr %at
  %first = lshr i64 %address, 2
  br label %word
word:
  %w = phi i64 [ 0, %lane ], [ %w.next, %word_done ]
  %worst.lane = phi i32 [ %worst, %lane ], [ %worst.next, %word_done ]
  %more = icmp ult i64 %w, %at_least
  br i1 %more, label %word_body, label %lane_done
word_body:
  %key = add i64 %first, %w
  %w.next = add i64 %w, 1
  %bank = and i64 %key, 31
  %bank.at = getelementptr i32, ptr %load, i64 %bank
  %held = load i32, ptr %bank.at
  %bank.first = shl i64 %bank, 6
  %list = getelementptr i64, ptr %words, i64 %bank.first
  br label %look
look:
  %k = phi i32 [ %held, %word_body ], [ %k.less, %compare ]
  %left = icmp ne i32 %k, 0
  br i1 %left, label %compare, label %new
compare:
  %k.less = sub i32 %k, 1
  %old.at = getelementptr i64, ptr %list, i32 %k.less
  %old = load i64, ptr %old.at
  %same = icmp eq i64 %old, %key
  br i1 %same, label %known, label %look
known:
  br label %word_done
new:
  %new.at = getelementptr i64, ptr %list, i32 %held
  store i64 %key, ptr %new.at
  %bank.new = add i32 %held, 1
  store i32 %bank.new, ptr %bank.at
  %worst.new = call i32 @llvm.umax.i32(i32 %worst.lane, i32 %bank.new)
  br label %word_done
word_done:
  %worst.next = phi i32 [ %worst.lane, %known ], [ %worst.new, %new ]
  br label %word
lane_done:
  br label %lanes
group_done:
  %total.next = add i32 %total, %worst
  %start.next = add i32 %start, %lanes_per
  br label %groups
done:
  ret i32 %total
}
declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Requests, sectors, lines, wavefronts and lanes; requests, wavefronts, lanes and ideal wavefronts.
define void @simt_count_global(ptr %slots, ptr %addresses, i32 %mask, i64 %bytes) {
  %some = icmp ne i32 %mask, 0
  %request = zext i1 %some to i64
  %sectors32 = call i32 @simt_distinct(ptr %addresses, i32 %mask, i64 5)
  %lines32 = call i32 @simt_distinct(ptr %addresses, i32 %mask, i64 7)
  %wavefronts32 = call i32 @simt_bank_wavefronts(ptr %addresses, i32 %mask, i64 %bytes)
  %lanes32 = call i32 @llvm.ctpop.i32(i32 %mask)
  %sectors = zext i32 %sectors32 to i64
  %lines = zext i32 %lines32 to i64
  %wavefronts = zext i32 %wavefronts32 to i64
  %lanes = zext i32 %lanes32 to i64
  @bump 0 %request
  @bump 1 %sectors
  @bump 2 %lines
  @bump 3 %wavefronts
  @bump 4 %lanes
  ret void
}
define void @simt_count_shared(ptr %slots, ptr %addresses, i32 %mask, i64 %bytes) {
entry:
  %some = icmp ne i32 %mask, 0
  %request = zext i1 %some to i64
  %wavefronts32 = call i32 @simt_bank_wavefronts(ptr %addresses, i32 %mask, i64 %bytes)
  %lanes32 = call i32 @llvm.ctpop.i32(i32 %mask)
  %wavefronts = zext i32 %wavefronts32 to i64
  %lanes = zext i32 %lanes32 to i64
  %narrow = icmp ule i64 %bytes, 4
  %room = udiv i64 128, %bytes
  %per64 = select i1 %narrow, i64 32, i64 %room
  %per = trunc i64 %per64 to i32
  %wide = icmp eq i32 %per, 32
  %bit = shl i32 1, %per
  %ones = sub i32 %bit, 1
  %window = select i1 %wide, i32 -1, i32 %ones
  br label %group
group:
  %start = phi i32 [ 0, %entry ], [ %next, %group ]
  %ideal = phi i64 [ 0, %entry ], [ %ideal.next, %group ]
  %here = shl i32 %window, %start
  %active = and i32 %mask, %here
  %any = icmp ne i32 %active, 0
  %one = zext i1 %any to i64
  %ideal.next = add i64 %ideal, %one
  %next = add i32 %start, %per
  %more = icmp ult i32 %next, 32
  br i1 %more, label %group, label %done
done:
  @bump 0 %request
  @bump 1 %wavefronts
  @bump 2 %lanes
  @bump 3 %ideal.next
  ret void
}
declare i32 @llvm.ctpop.i32(i32)

; Requests, lanes, distinct addresses, and lanes on the address that most lanes want; and updates by address over all requests,
; in 256 buckets, unless the pointer to them is null. combined: a request makes one update.
define void @simt_count_atomic(ptr %slots, ptr %addresses, i32 %mask, ptr %buckets, i1 %combined) {
entry:
  %some = icmp ne i32 %mask, 0
  br i1 %some, label %count, label %end
count:
  %lanes32 = call i32 @llvm.ctpop.i32(i32 %mask)
  %lanes = zext i32 %lanes32 to i64
  br label %group
group:
  %rest = phi i32 [ %mask, %count ], [ %rest.next, %group.end ], [ %rest.next, %bucket ]
  %distinct = phi i64 [ 0, %count ], [ %distinct.next, %group.end ], [ %distinct.next, %bucket ]
  %most = phi i32 [ 0, %count ], [ %most.next, %group.end ], [ %most.next, %bucket ]
  %left = icmp ne i32 %rest, 0
  br i1 %left, label %first, label %store
first:
  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %at = getelementptr i64, ptr %addresses, i32 %number
  %address = load i64, ptr %at
  br label %lane
lane:
  %look = phi i32 [ %rest, %first ], [ %look.next, %lane.end ]
  %same = phi i32 [ 0, %first ], [ %same.next, %lane.end ]
  %k = call i32 @llvm.cttz.i32(i32 %look, i1 true)
  %less = sub i32 %look, 1
  %look.next = and i32 %look, %less
  %other.at = getelementptr i64, ptr %addresses, i32 %k
  %other = load i64, ptr %other.at
  %equal = icmp eq i64 %other, %address
  %bit = shl i32 1, %k
  %joined = or i32 %same, %bit
  %same.next = select i1 %equal, i32 %joined, i32 %same
  br label %lane.end
lane.end:
  %more = icmp ne i32 %look.next, 0
  br i1 %more, label %lane, label %group.end
group.end:
  %size = call i32 @llvm.ctpop.i32(i32 %same.next)
  %most.next = call i32 @llvm.umax.i32(i32 %most, i32 %size)
  %others = xor i32 %same.next, -1
  %rest.next = and i32 %rest, %others
  %distinct.next = add i64 %distinct, 1
  %uncounted = icmp eq ptr %buckets, null
  br i1 %uncounted, label %group, label %bucket
bucket:
  %word = lshr i64 %address, 2
  %index = and i64 %word, 255
  %bucket.at = getelementptr i64, ptr %buckets, i64 %index
  %bucket.old = load i64, ptr %bucket.at
  %updates = select i1 %combined, i32 1, i32 %size
  %updates64 = zext i32 %updates to i64
  %bucket.new = add i64 %bucket.old, %updates64
  store i64 %bucket.new, ptr %bucket.at
  br label %group
store:
  %most64 = zext i32 %most to i64
  %requests.old = load i64, ptr %slots
  %requests.new = add i64 %requests.old, 1
  store i64 %requests.new, ptr %slots
  %lanes.at = getelementptr i64, ptr %slots, i64 1
  %lanes.old = load i64, ptr %lanes.at
  %lanes.new = add i64 %lanes.old, %lanes
  store i64 %lanes.new, ptr %lanes.at
  %distinct.at = getelementptr i64, ptr %slots, i64 2
  %distinct.old = load i64, ptr %distinct.at
  %distinct.new = add i64 %distinct.old, %distinct
  store i64 %distinct.new, ptr %distinct.at
  %most.at = getelementptr i64, ptr %slots, i64 3
  %most.old = load i64, ptr %most.at
  %most.new = add i64 %most.old, %most64
  store i64 %most.new, ptr %most.at
  br label %end
end:
  ret void
}
