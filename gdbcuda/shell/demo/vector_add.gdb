# ------------------------------------------------------------------------------------------------------------
#  The same with a real CUDA program, built by nvcc with the shared runtime: a kernel launch with <<<>>>.
# ------------------------------------------------------------------------------------------------------------
cuda-load shim/build/libgdbcuda-hook.so
cuda-env LD_LIBRARY_PATH=shim/build/standin
cuda-break cudaMemcpy if kind == cudaMemcpyHostToDevice && count >= 1M
cuda-break cudaLaunchKernel
run
delete 1
continue

#  The launch: grid and block as the program wrote them. And what does the driver get, behind runtime and hook?
cuda-break cuLaunchKernel --in driver
continue
bt
delete

#  The stand-in driver counts and checks launches and runs no kernel: over it nothing is added.
continue
