"""Calls that the runtime answers: printf, assert, device memory; and the ends of a launch that a kernel asks for."""
from __future__ import annotations

from simt.ir.blocks import Node
from simt.ir.shapes import VARYING, WARP

ASSERT, INVALID_PC, LAUNCH_FAILED = 710, 718, 719        # CUresult


class RuntimeCalls:
    def __init__(self, emitter):
        self.emitter, self.text, self.lanes = emitter, emitter.text, emitter.lanes
        self.allocates = False

    def print_text(self, node: Node) -> None:
        """vprintf: each running lane hands its format and arguments to the host."""
        memory = self.emitter.memory
        text, arguments = (self.emitter.operand(o, "b64") for o in node.operands)
        memory.to_exchange(0, arguments, "i64")
        memory.to_exchange(1, text, "i64")

        def one(lane: str) -> None:
            at = self.text.define(f"getelementptr i64, ptr %exchange, i32 {lane}")
            values = self.text.define(f"load i64, ptr {at}")
            template = self.text.define(f"load i64, ptr {self.text.define(f'getelementptr i64, ptr {at}, i64 {WARP}')}")
            self.text.define(f"call i32 @simt_print(i64 {template}, i64 {values})")

        self.emitter.warp.lane_loop(self.emitter.mask, one)
        self.emitter.define(node, 0, self.lanes.constant("i32", 0))

    def assert_failed(self, node: Node) -> None:
        """__assertfail: keeps the addresses of message and place for the diagnosis."""
        memory = self.emitter.memory
        for name, index in (("fault_address", 0), ("fault_site_text", 1)):
            memory.to_exchange(0, self.emitter.operand(node.operands[index], "b64"), "i64")
            lane = self.emitter.suspension.first_lane(self.emitter.mask)
            value = self.text.define(f"load i64, ptr {self.text.define(f'getelementptr i64, ptr %exchange, i64 {lane}')}")
            self.text.emit(f"store i64 {value}, ptr {self.emitter.context.pointer(name)}")
        self.emitter.suspension.fail(ASSERT, node, "assertion failed")

    def allocate(self, node: Node) -> None:
        """malloc: the host's answer replaces each running lane's size in the exchange buffer."""
        self.allocates = True
        memory = self.emitter.memory
        memory.to_exchange(0, self.emitter.operand(node.operands[0], "b64"), "i64")

        def one(lane: str) -> None:
            at = self.text.define(f"getelementptr i64, ptr %exchange, i32 {lane}")
            size = self.text.define(f"load i64, ptr {at}")
            self.text.emit(f"store i64 {self.text.define(f'call i64 @simt_malloc(i64 {size})')}, ptr {at}")

        self.emitter.warp.lane_loop(self.emitter.mask, one)
        self.emitter.define(node, 0, memory.from_exchange(0, "i64", VARYING, self.emitter.mask))

    def release(self, node: Node) -> None:
        """free; the launch fails for an address that malloc did not give."""
        self.allocates = True
        self.emitter.memory.to_exchange(0, self.emitter.operand(node.operands[0], "b64"), "i64")

        def one(lane: str) -> None:
            address = self.text.define(f"load i64, ptr {self.text.define(f'getelementptr i64, ptr %exchange, i32 {lane}')}")
            wrong = self.text.define(f"icmp eq i32 {self.text.define(f'call i32 @simt_free(i64 {address})')}, 0")
            self.emitter.suspension.fail_if(wrong, node, "not given by malloc", self.text.define(f"shl i32 1, {lane}"))

        self.emitter.warp.lane_loop(self.emitter.mask, one)

    def grid_handle(self, node: Node) -> None:
        """cudaCGGetIntrinsicHandle: the one handle there is, that of the grid."""
        self.emitter.define(node, 0, self.lanes.constant("i64", 1))

    def no_function(self, node: Node) -> None:
        self.emitter.suspension.fail(INVALID_PC, node, "no function there")

    def trap(self, node: Node) -> None:
        self.emitter.suspension.fail(LAUNCH_FAILED, node, "trap")
