; i32 simt_access_kept(...): 0, or 1 after a fault. Accesses of a batch, one by one as in simt_access_shaped, and then the loaded
; bytes of the lanes in the mask to where they would lie if the bases of the half warps were kept.low and kept.high.
; batch: pairs (first field of the site in sites, offset in bytes).
define i32 @simt_access_kept(ptr %context, ptr %checks, ptr %sites, ptr %batch, i64 %count, i32 %mask, i32 %warp, i64 %low, i64 %high, ptr %pattern, ptr %addresses, ptr %exchange, i64 %kept.low, i64 %kept.high) {
entry:
  br label %access
access:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %pair = getelementptr {i64, i64}, ptr %batch, i64 %k
  %row = load i64, ptr %pair
  %site = getelementptr i64, ptr %sites, i64 %row
  %offset.at = getelementptr {i64, i64}, ptr %batch, i64 %k, i32 1
  %offset = load i64, ptr %offset.at
  @site
  %failed = call i32 @simt_access_shaped(ptr %context, ptr %checks, ptr %site, i32 %mask, i32 %warp, i64 %low, i64 %high, i64 %offset, ptr %pattern, ptr %addresses, ptr %exchange)
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %fault, label %lanes
lanes:
  %rest = phi i32 [ %mask, %access ], [ %rest.next, %element.end ]
  %some = icmp ne i32 %rest, 0
  br i1 %some, label %lane, label %next
lane:
  %number32 = call i32 @llvm.cttz.i32(i32 %rest, i1 true)
  %number = zext i32 %number32 to i64
  %less = sub i32 %rest, 1
  %rest.next = and i32 %rest, %less
  %upper = icmp uge i64 %number, 16
  %base = select i1 %upper, i64 %kept.high, i64 %kept.low
  %step.at = getelementptr i64, ptr %pattern, i64 %number
  %step = load i64, ptr %step.at
  %start = add i64 %base, %offset
  %place = add i64 %start, %step
  br label %element
element:
  %e = phi i64 [ 0, %lane ], [ %e.next, %element ]
  %e.bytes = mul i64 %e, %site.element
  %target = add i64 %place, %e.bytes
  %target.at = inttoptr i64 %target to ptr
  %cell.row = mul i64 %e, 32
  %cell = add i64 %cell.row, %number
  %cell.bytes = mul i64 %cell, %site.element
  %source = getelementptr i8, ptr %exchange, i64 %cell.bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %target.at, ptr %source, i64 %site.element, i1 false)
  %e.next = add i64 %e, 1
  %e.more = icmp ult i64 %e.next, %site.elements
  br i1 %e.more, label %element, label %element.end
element.end:
  br label %lanes
next:
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %access, label %done
done:
  ret i32 0
fault:
  ret i32 1
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
