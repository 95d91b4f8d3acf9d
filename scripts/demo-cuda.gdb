# ------------------------------------------------------------------------------------------------------------
#  The same with a real CUDA program, built by nvcc with the shared runtime: a kernel launch with <<<>>>.
# ------------------------------------------------------------------------------------------------------------
cuda-load shim/build/libgdbcuda-hook.so
cuda-env LD_LIBRARY_PATH=shim/build/standin
cuda-break cudaMemcpy if kind == cudaMemcpyHostToDevice && count >= 1M
cuda-break cudaLaunchKernel
info breakpoints
run
delete 1
continue
bt
delete
continue
