"""Ladders of kernels, each from slow to fast. A family's ladders, in the order in which to climb them, as paths below here."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "matmul": ("matmul",),
    "reduction": ("reduction", "reduction.argmax"),
    "quant": ("quant.quantise", "quant.int8_matmul", "quant.dequant_gemv"),
}
