# %% [markdown]
# # Roofline and occupancy
#
# - **You will do:** place kernels below a roofline by hand, then by counters; change a block shape and watch occupancy move.
# - **You will learn:** what bounds a kernel, and when more threads help.
# - **You need:** [matmul: registers, vectors, warps](40_matmul_registers_vectors_warps.ipynb).

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# ## Two ceilings
# A device moves so many bytes a second, and does so many operations a second. A kernel that does $F$ operations on $B$ bytes
# has the **arithmetic intensity** $F / B$. Below a certain intensity bytes are the limit, above it arithmetic: the corner is
# the **ridge**. The facts of the device, each with its source, stand in `simt/model/devices/`:

# %%
import simt

device = simt.device()
peak_gflops, bandwidth_gb_per_s = device.peak_gflops("fp32"), device.dram_gb_per_s
print(f"{device.title}: {peak_gflops / 1000:.1f} TFLOP/s in float32, {bandwidth_gb_per_s} GB/s")

# %% [markdown]
# Where is the ridge? FLOP per byte:

# %%
predicted = ...  # FLOP per byte
notebook.compare("ridge, FLOP per byte", predicted, peak_gflops / bandwidth_gb_per_s, tag="from the facts:")

# %% [markdown]
# ## Place two problems by hand
# 1. `y = a * x + y` over float32: 2 FLOP for each element; two loads and one store of 4 bytes.
# 2. `C = A @ B` with $m = n = k = 4096$, every byte moved once: $2 m n k$ FLOP, $4 (mk + kn + mn)$ bytes.

# %%
saxpy = ...  # FLOP per byte
matmul = ...  # FLOP per byte
n = 4096
notebook.compare("saxpy, FLOP per byte", saxpy, 2 / 12, tag="it is")
notebook.compare("matmul, FLOP per byte", matmul, 2 * n**3 / (4 * 3 * n**2), tag="it is")

# %% [markdown]
# Saxpy lies far left of the ridge, and no cleverness moves it: only fewer bytes do (fusion, smaller types). Matmul lies far to
# the right, so it *can* be bound by arithmetic. Whether it is depends on the kernel.
#
# ## Place kernels by counters

# %%
import numpy as np
from numba import cuda, float32


@cuda.jit
def saxpy_kernel(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


x = cuda.to_device(np.ones(1 << 18, np.float32))
y = cuda.to_device(np.ones(1 << 18, np.float32))
saxpy_run = notebook.count(lambda: saxpy_kernel[(1 << 18) // 256, 256](float32(2), x, y), "saxpy")
runs = [saxpy_run] + [notebook.run(f"matmul/{step}", m=256, n=256, k=256) for step in ("naive", "tiled", "warp_tile")]
notebook.roofline(runs)

# %% [markdown]
# All three matmuls stand on one vertical line: the problem's bytes and FLOP do not change with the kernel. Their height does.
# At 256 x 256 x 256 they are small: see how many blocks 132 SMs have to share.

# %%
for run in runs[1:]:
    print(f"{run.name:16} {run.launches[0].blocks_total:3} blocks for {device.sm_count} SMs")

# %% [markdown]
# The distance to the roof is what the kernel loses; *why* it loses it, the roofline does not say. That is what the terms of the
# time say: how long each unit would need alone.

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
names = ["issue", "fp32", "integer", "load/store unit", "L2 bandwidth", "DRAM bandwidth", "latency"]
for place, run in enumerate(runs[1:]):
    terms = run.launches[0].terms
    share = [100 * terms.get(name, 0) / run.time_ns for name in names]
    axes.bar(np.arange(len(names)) + 0.27 * (place - 1), share, width=0.25, label=run.name)
axes.set_xticks(range(len(names)), names, rotation=20)
axes.set_ylabel("% of the modelled time")
axes.set_title("How long each unit is busy, m = n = k = 256")
axes.legend(frameon=False)
plt.close(figure)
figure

# %% [markdown]
# A unit at nearly 100 % is the bottleneck: take work off *that* one. Where no unit is busy, the launch waits: for memory, for
# barriers, or because it is too small. Then more warps at once help, and their number is the **occupancy**.
#
# ## Occupancy
# An SM of this device holds at most 64 warps. Registers, shared memory and the number of blocks may allow fewer. You have done
# registers; now shared memory. A block of 256 threads takes 40 registers a thread and 48 KiB of shared memory. An SM has
# 65,536 registers and 228 KiB of shared memory, and keeps 1 KiB of that for itself with each block. How many warps?

# %%
from simt.model import occupancy

predicted = ...  # warps per SM
found = occupancy(device, 256, 40, 48 * 1024)
notebook.compare("warps per SM", predicted, found.warps_per_sm, tag="it is")

# %%
print(f"{found.blocks_per_sm} blocks, {found.warps_per_sm} warps: {found.percent:.0f} % of 64, limited by {found.limiter}")
print(f"with registers alone to limit it: {occupancy(device, 256, 40, 0).warps_per_sm} warps")

# %%
registers = np.arange(16, 256)
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
for threads in (64, 256, 1024):
    percent = [occupancy(device, threads, int(r), 0).percent for r in registers]
    axes.step(registers, percent, where="mid", label=f"{threads} threads")
axes.set_xlabel("registers per thread")
axes.set_ylabel("theoretical occupancy, %")
axes.set_title("Registers cost warps, in steps")
axes.legend(title="block", frameon=False)
plt.close(figure)
figure

# %% [markdown]
# Registers cost warps in steps, and a block of 1,024 threads falls first: either all its warps fit or none.
#
# High occupancy is a means. The fast rungs of the matmul ladder have *less* of it than the slow ones: they keep results in
# registers, and hide latency with independent work of one thread instead.

# %%
notebook.table(notebook.recorded("matmul", ["naive", "tiled", "warp_tile"]))

# %% [markdown]
# ## On your own
# - `double_buffer` overlaps loads with arithmetic, and gains next to nothing in the model. Which of the `launches[0].terms` of
#   `notebook.run("matmul/double_buffer")` says why?
# - What block size gives a kernel with 40 registers and 20 KiB of shared memory per block the most warps? Guess, then loop over
#   `occupancy(device, threads, 40, 20 * 1024)`.
# - `./ladder profile matmul/tiled` has a what-if table under *occupancy*. Which of its rows would you try first?
#
# Next: [measure like an engineer](90_measure_like_an_engineer.ipynb).
