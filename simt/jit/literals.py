"""PTX literals as IR constants."""
from __future__ import annotations

import struct

from simt.jit.builder import IR_BITS, Value, float_text
from simt.ptx.statements import Imm


def immediate(operand: Imm, lane_type: str) -> Value:
    """A literal as a lane constant; floats come as bit patterns."""
    if lane_type == "i1":
        return Value("i1", "true" if operand.bits else "false")
    if lane_type in ("float", "double", "half"):
        return Value(lane_type, literal_float(operand, lane_type))
    bits = IR_BITS[lane_type]
    value = operand.bits & ((1 << bits) - 1)
    return Value(lane_type, str(value - (1 << bits) if value >> (bits - 1) else value))


def literal_float(operand: Imm, lane_type: str) -> str:
    if operand.float_width == 64:
        return float_text(lane_type, struct.unpack("<d", struct.pack("<Q", operand.bits))[0])
    if operand.float_width == 32:
        return float_text(lane_type, struct.unpack("<f", struct.pack("<I", operand.bits))[0])
    if lane_type == "half":
        return f"0xH{operand.bits & 0xFFFF:04X}"
    return float_text(lane_type, float(operand.bits))


def zero(lane_type: str) -> Value:
    if lane_type == "i1":
        return Value("i1", "false")
    return Value(lane_type, float_text(lane_type, 0.0) if lane_type in ("float", "double", "half") else "0")
