"""Numbers of 8 and 4 bits: making them, multiplying them, and what they cost in accuracy.

quantise        ladder: float32 rows -> int8 codes and one float32 scale per row; with it, beside the steps,
                per_tensor and per_group, the same with one scale for all and for each 32, 64 or 128 columns
int8_matmul     ladder: int8 @ int8 -> float32
dequant_gemv    ladder: int8 or int4 weights @ a few float32 vectors
formats         the same numbers in plain NumPy: what the ladders are compared with
codes           device functions that the quantising kernels share
int4, fp8       kernels: two codes per byte; float32 -> e4m3 or e5m2 and back
drift           kernels and a measurement: how errors grow through a stack of layers
"""
