# %% [markdown]
# # Start here
#
# - **You will do:** run one kernel, predict a number, break the kernel, and read what the device says.
# - **You will learn:** what is counted here, what is modelled, and how a lesson goes.
# - **You need:** Python. A GPU is welcome, and not needed.

# %%
from workbook import notebook

notebook.start("h100")

# %% [markdown]
# Every notebook starts with that cell. The kernels are ordinary Numba CUDA: Numba compiles them to PTX, as for a GPU. The
# device is an emulated one: it runs that PTX on the CPU, 32 threads at a time, and keeps count of what a GPU would have to do.
#
# ## A kernel
# `C = A @ B`, one thread for each cell of C. This is the first rung of a ladder of nine:

# %%
notebook.show("matmul/naive")

# %%
naive = notebook.run("matmul/naive", m=64, n=64, k=64)
naive.correct

# %% [markdown]
# `run` made inputs, launched the step, compared C with NumPy cell by cell, and counted.
#
# ## Predict, then look
# Memory answers in **sectors** of 32 bytes. The 32 threads of a **warp** ask together: one request. Here neighbouring threads
# stand in neighbouring *rows*, so when they load `a[row, i]` their addresses lie a whole row, 64 floats of 4 bytes, apart.
#
# How many sectors does a request for `a` touch? And the one for `b[i, col]`, where all 32 threads want the same cell? Write
# the mean of the two in place of the dots, and run the cells one by one. What they print is folded until they run; the text
# after them explains it, so guess before you read on.

# %%
predicted = ...  # sectors per load request: a number for the dots

# %%
notebook.compare("sectors per load request", predicted, naive.sectors_per_request)

# %%
notebook.access_map(naive, line=notebook.line_of(naive, "a[row"))

# %% [markdown]
# The request for `a`: light blue is what memory has to fetch, dark blue what the warp uses of it. 32 sectors, 1,024 bytes, for
# 128 bytes that anybody wanted; and 1 sector for `b`, which makes 16.5 on average. That is the whole story of the first
# rung. The next one changes which coordinate is the row. Look at the two lines, predict again, and run:

# %%
notebook.changes("matmul/coalesced")

# %%
coalesced = notebook.run("matmul/coalesced", m=64, n=64, k=64)
predicted = ...  # sectors per load request, after the change
notebook.compare("sectors per load request", predicted, coalesced.sectors_per_request)

# %% [markdown]
# Now `a[row, i]` is the broadcast, 1 sector, and `b[i, col]` a row of 32 neighbours, 4 sectors. What that is worth in time,
# and what the third rung adds, which brings shared memory:

# %%
times = notebook.time("matmul", ["naive", "coalesced", "tiled"], m=4096, n=4096, k=4096)
notebook.speedup_bars(times)

# %%
notebook.table(times)

# %% [markdown]
# Requests, sectors, conflicts are **exact**: they were counted on the PTX that ran, and a test of this project fails when one
# of them is off by one. The time is **modelled** from them and from what is published about the device; its error is not
# validated yet. Where there is a GPU, `./ladder climb matmul` *measures* instead, and says so. The two never share a column.
#
# ## Break it
# A wrong kernel can be fast, and can even be right by chance. This one forgets to guard its edge:

# %%
import numpy as np
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    out[i] = 2 * x[i]


x = np.arange(100, dtype=np.float32)
out = cuda.device_array(100, np.float32)
with notebook.failing():
    double[1, 128](cuda.to_device(x), out)
    cuda.synchronize()

# %% [markdown]
# A GPU would say "illegal memory access", some launches later, or nothing at all. Here the launch stops at the line, with the
# thread, the index and the size; the next launch works. Put `if i < x.size:` before the store and run the cell again.
#
# ## On your own
# - Run `matmul/naive` with `m=8`. Why does a request for `a` touch fewer sectors then?
# - `notebook.run("matmul/naive", m=64, n=64, k=64).report`, alone in a cell, is the profiler's page. Find line and advice.
# - In a terminal: `./ladder exercise` shows the first exercise and checks it whenever you save the file.
#
# Next: [threads, blocks, guards](10_threads_blocks_guards.ipynb).
