# %% [markdown]
# # Reading PTX and SASS
#
# - **You will do:** follow one line of Python down to the instructions that a GPU runs, and find what each of them costs.
# - **You will learn:** to see index arithmetic, accidental float64, vector loads and spills in the machine code.
# - **You need:** [matmul: registers, vectors, warps](40_matmul_registers_vectors_warps.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Three languages
# Numba types your Python and hands it to NVVM, which writes **PTX**: an assembly language for a machine with endless
# registers, the same for all GPUs. NVIDIA's assembler then makes **SASS** of it for one GPU: real registers, real
# instructions. Both compilers run here for real; the emulated device executes the PTX, and the SASS says what it would become.
#
# This kernel does one multiplication for each element. How many PTX instructions does a thread need for it, all in all?

# %%
import numpy as np
from numba import cuda, float32, int32


@cuda.jit
def scale(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 0.1 * x[i]


n = 1024
x, out = cuda.to_device(np.ones(n, np.float32)), cuda.device_array(n, np.float32)
ran = notebook.count(lambda: scale[4, 256](x, out), "scale")  # 32 warps
predicted = ...  # PTX instructions that one warp executes
notebook.compare("PTX instructions per warp", predicted, ran.counters["ptx__inst_executed"] / 32)

# %% [markdown]
# Beside each PTX instruction stands what the assembler made of it, how many registers are live there, and how often warps
# ran it:

# %%
notebook.machine_code(ran, "out[i] = 0.1")

# %% [markdown]
# Read it from the memory instructions outwards: `ld.global` is the load of `x[i]`, `st.global` the store. What surrounds them
# is the address: an index of 64 bits, a fix-up for negative indices (`shr`, `and`, `add`: Numba allows `x[-1]`), a shift by
# the size of an element, an addition of the array's start.
#
# And the multiplication? Its type is a surprise:

# %%
ptx = next(iter(scale.inspect_asm().values()))
for line in ptx.splitlines():
    if "f64" in line and ".reg" not in line:
        print(line.strip())

# %% [markdown]
# ## Accidental float64
# `0.1` in Python is a float64, so Numba converts `x[i]` to double precision, multiplies there, and converts back. How fast a
# device is at that is one of its facts:

# %%
from simt import model

for device in (model.load("h100"), model.load("rtx4090")):
    print(f"{device.title}: float64 at 1/{device.peak_gflops('fp32') / device.peak_gflops('fp64'):g} of the rate of float32")

# %% [markdown]
# Say what you mean, with the type of the data:

# %%
@cuda.jit
def scale_float32(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = float32(0.1) * x[i]


single = notebook.count(lambda: scale_float32[4, 256](x, out), "scale_float32")
for name in ("ptx__inst_executed_fp64", "ptx__inst_executed_convert", "ptx__inst_executed_fp32"):
    print(f"{name:28} {ran.counters[name]:4} -> {single.counters[name]:4}")

# %% [markdown]
# The checks of the exercises refuse float64 in a float32 kernel for that reason, and the profiler has a rule for it.
#
# ## What indices cost
# Loops over `range` count in 64 bits, and registers have 32: each such addition is two instructions in SASS. In the inner loop
# of a matmul there are many. The share of the one instruction that we want, the multiply-add:

# %%
coalesced = notebook.run("matmul/coalesced", m=64, n=64, k=64)
tiled = notebook.run("matmul/tiled", m=64, n=64, k=64)
for step in (coalesced, tiled):
    share = 64**3 / 32 / step.counters["ptx__inst_executed"]
    print(f"{step.name:17} {100 * share:4.1f} % of the PTX instructions are multiply-adds")

# %%
notebook.instruction_mix(coalesced)

# %%
notebook.instruction_mix(tiled)

# %% [markdown]
# In `tiled` the inner loop has a constant length and constant strides: the compiler unrolls it, and its indices become offsets
# within the instructions, which the larger share of multiply-adds shows. Nobody had to write that; the constants made it
# possible.
#
# ## Four values at once
# `kernels.intrinsics.load4` asks for 16 bytes in one instruction. Find it: `v4` in PTX, `.128` in SASS.

# %%
from kernels.intrinsics import load4, store4


@cuda.jit
def scale_by_four(x, out):
    i = 4 * cuda.grid(1)
    if i < x.size:
        a, b, c, d = load4(x, i)
        tenth = float32(0.1)
        store4(out, i, (tenth * a, tenth * b, tenth * c, tenth * d))


wide = notebook.count(lambda: scale_by_four[1, 256](x, out), "scale_by_four")
notebook.machine_code(wide, "load4(x, i)")

# %% [markdown]
# A quarter of the warps does the same job. How many times fewer instructions is that? Not four: why?

# %%
predicted = ...  # executed PTX instructions of `scale_float32`, over those of `scale_by_four`
counted = [run.counters["ptx__inst_executed"] for run in (single, wide)]
notebook.compare("PTX instructions, one at a time over four", predicted, counted[0] / counted[1])

# %%
print(f"one at a time: {counted[0]} PTX instructions, {counted[0] // 32} for each of 32 warps")
print(f"by fours:      {counted[1]} PTX instructions, {counted[1] // 8} for each of 8 warps")

# %% [markdown]
# ## When registers run out
# A thread has at most 255 registers, and you may ask for fewer (`max_registers`), so that more warps fit. What does not fit is
# **spilled** to local memory, which is device memory in disguise:

# %%
def summed_twice(x, out):
    i = cuda.grid(1)
    values = cuda.local.array(48, float32)
    for k in range(48):
        values[k] = x[(i + k) % x.size]
    total = float32(0)
    for k in range(48):
        total += values[k] * values[(k * 7 + int32(x[0])) % 48]
    out[i] = total


for limit in (None, 24):
    kernel = cuda.jit(summed_twice) if limit is None else cuda.jit(max_registers=limit)(summed_twice)
    spilled = notebook.count(lambda kernel=kernel: kernel[4, 256](x, out), f"limit {limit}")
    launch = spilled.launches[0]
    print(f"{spilled.name:10}: {launch.registers} registers; {launch.local_bytes} bytes of local memory for each thread; "
          f"spill instructions that move {launch.spill_bytes} bytes")

# %% [markdown]
# The array that is indexed by a value known only at run time lives in local memory in any case, 48 floats of it: registers
# have no addresses. What the limit adds to it is spilled. The last number says how much the spilling instructions of the code
# store and load, each counted once, as the assembler reports it: a value that is spilled once and loaded ten times counts
# eleven times.
#
# ## On your own
# - Change `0.1 * x[i]` to `x[i] / float32(3)`. Which instructions appear? How many lanes a cycle has the unit that runs them?
# - `./ladder profile matmul/warp_tile --source` prints this view for its hot lines. Which of them has the most live registers?
# - In `scale`, replace `i = cuda.grid(1)` by 32-bit arithmetic of your own. What is left of the address?
#
# Next: [roofline and occupancy](80_roofline_and_occupancy.ipynb).
