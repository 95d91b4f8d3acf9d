// A real CUDA program with a kernel launch. Built by `make cuda` where nvcc is, with the shared runtime, so that it
// runs unmodified on a GPU and over the stand-in, which counts launches and runs no kernel: then the sum is wrong, and
// the program says so. Exit status: 0 the sum is right, 1 it is wrong, 2 a call failed.
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(const char *what, cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::printf("%s: %s\n", what, cudaGetErrorName(error));
    std::exit(2);
}

__global__ void add(const float *a, const float *b, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

static float *to_device(const std::vector<float> &values)
{
    float *block = nullptr;
    size_t bytes = values.size() * sizeof(float);
    must("cudaMalloc", cudaMalloc(&block, bytes));
    must("cudaMemcpy", cudaMemcpy(block, values.data(), bytes, cudaMemcpyHostToDevice));
    return block;
}

static std::vector<float> to_host(const float *block, size_t count)
{
    std::vector<float> values(count);
    must("cudaMemcpy", cudaMemcpy(values.data(), block, count * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
}

int main()
{
    const int count = 1 << 20;
    float *a = to_device(std::vector<float>(count, 1));
    float *b = to_device(std::vector<float>(count, 2));
    float *sum = to_device(std::vector<float>(count, 0));
    add<<<(count + 255) / 256, 256>>>(a, b, sum, count);
    must("launch", cudaGetLastError());
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());
    float last = to_host(sum, count).back();
    for (float *block : {a, b, sum})
        must("cudaFree", cudaFree(block));
    std::printf("added %d floats, the last is %g%s\n", count, last, last == 3 ? "" : ": the kernel did not run");
    return last == 3 ? 0 : 1;
}
