# ------------------------------------------------------------------------------------------------------------
#  A program that uses the CUDA runtime. A hook library is preloaded between it and CUDA: it limits device memory
#  to 2 GiB. The program asks for 64 MiB, 1 GiB + 1 and 3 GiB; which code sees each request, and who refuses it?
# ------------------------------------------------------------------------------------------------------------
cuda-load shim/build/libgdbcuda-hook.so
cuda-env GDBCUDA_MEMORY_LIMIT=2g
cuda-env LD_LIBRARY_PATH=shim/build/standin

#  Breakpoints before the program runs. Each lands in the hook library alone: not in the program's PLT, not in the
#  runtime or the driver that export the same names. Conditions are on the header's parameter names.
cuda-break cudaMalloc --once
cuda-break cuMemAlloc if bytesize > 1G
cuda-break cuMemAlloc --on error
run

#  Stopped in the hook's cudaMalloc. Which layers are we in?
bt
continue

#  The condition held for the first time: 1 GiB + 1. The hook's cuMemAlloc, called by the runtime.
bt
cuda-call
continue

#  3 GiB this time. Where does the call return an error, and which one?
continue
bt 2
cuda-call
delete
continue
