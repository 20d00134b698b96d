"""Typed blocks between PTX and machine code: control flow, SSA, lane shapes, and the order in which blocks run."""
