"""The CUDA driver that numba talks to when the machine has no GPU: functions, handles, clocks, no meaning of PTX.

``enable`` puts a library named libcuda.so.1 into the process whose only content is the address of one function,
``cuGetProcAddress``; that function hands out the functions defined in this package's ``*_calls`` modules.
"""
