"""A step that does not pay.

Computes:   C = A @ B in float32
Launch:     none
Cost:       2mnk FLOP; asks for 8mnk B of loads and 4mn B of stores
Changed:    from fast: regs
Why faster: it says so
Source:     ours
"""

from kernels.case import Cost

CLAIMS = ()


def run(buffers, stream):
    buffers["c"][...] = buffers["a"] @ buffers["b"]
    stream.append({"time_ns": 5000.0, "sectors": 400, "registers": 64})


def cost(case):
    cells = case["m"] * case["n"]
    return Cost(2 * cells * case["k"], 8 * cells * case["k"], 4 * cells)
