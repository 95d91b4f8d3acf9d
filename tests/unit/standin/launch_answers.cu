/* Questions to the runtime that only nvcc's programs ask: launches of their own kernels, and their variables. */
#include <cuda_runtime.h>
#include <stdio.h>

#define ASK(call) printf("%-78s %s\n", #call, cudaGetErrorName(call))
#define SHOW(value) printf("%-78s %lld\n", #value, (long long)(value))

__constant__ int factors[4];
__device__ int counter;
__managed__ int shared_counter = 0;

__global__ void work(int *where, int count)
{
    if (where && threadIdx.x < count)
        where[threadIdx.x] += counter + factors[0] + shared_counter;
}

__global__ void nothing() {}

static void launches()
{
    int *where = NULL, count = 0;
    void *arguments[] = {&where, &count};

    nothing<<<1, 1>>>();
    ASK(cudaGetLastError());
    work<<<1, 32>>>(where, 0);
    ASK(cudaGetLastError());
    work<<<1, 2048>>>(where, 0);
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
    work<<<0, 32>>>(where, 0);
    ASK(cudaGetLastError());
    work<<<1, 32, 1 << 20>>>(where, 0);
    ASK(cudaGetLastError());
    work<<<dim3(1, 65536), 32>>>(where, 0);
    ASK(cudaGetLastError());
    ASK(cudaLaunchKernel((const void *)work, dim3(1), dim3(32), arguments, 0, 0));
    ASK(cudaLaunchKernel((const void *)work, dim3(1), dim3(2048), arguments, 0, 0));
    ASK(cudaLaunchKernel((const void *)work, dim3(0), dim3(32), arguments, 0, 0));
    ASK(cudaLaunchKernel((const void *)work, dim3(1), dim3(32), arguments, 1 << 20, 0));
    ASK(cudaLaunchCooperativeKernel((const void *)work, dim3(100000), dim3(1024), arguments, 0, 0));
    ASK(cudaDeviceSynchronize());
    ASK(cudaGetLastError());
}

static void variables()
{
    void *address;
    size_t size;
    int value = 7, back = 0;

    ASK(cudaGetSymbolSize(&size, factors));
    SHOW(size);
    ASK(cudaGetSymbolSize(&size, counter));
    SHOW(size);
    ASK(cudaGetSymbolAddress(&address, counter));
    ASK(cudaMemcpyToSymbol(counter, &value, sizeof value));
    ASK(cudaMemcpyFromSymbol(&back, counter, sizeof back));
    SHOW(back);
    ASK(cudaMemcpyToSymbol(counter, &value, sizeof value, 4));
    ASK(cudaMemcpyToSymbol(counter, &value, 8));
    ASK(cudaMemcpy(&back, address, sizeof back, cudaMemcpyDeviceToHost));
    SHOW(back);
    shared_counter = 5;
    SHOW(shared_counter);
    struct cudaPointerAttributes attributes;
    ASK(cudaPointerGetAttributes(&attributes, &shared_counter));
    SHOW(attributes.type);
}

/* The last error after an error, and then a call that succeeds. */
#define AFTER(call) (cudaMalloc((void **)NULL, 16), call, printf("%-78s %s\n", "after " #call, cudaGetErrorName(cudaGetLastError())))

static void last_error()
{
    struct cudaFuncAttributes attributes;
    struct cudaPointerAttributes pointer;
    const char *name;
    size_t offset, size, room;
    int blocks, value = 1;
    cudaFunction_t function;
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaEvent_t event;
    void *address;

    AFTER(cudaFuncGetAttributes(&attributes, work));
    AFTER(cudaFuncGetName(&name, (const void *)work));
    AFTER(cudaFuncGetParamInfo((const void *)work, 1, &offset, &size));
    AFTER(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, work, 1024, 0));
    AFTER(cudaOccupancyAvailableDynamicSMemPerBlock(&room, (const void *)work, 1, 128));
    AFTER(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    AFTER(cudaFuncSetCacheConfig(work, cudaFuncCachePreferNone));
    AFTER(cudaGetFuncBySymbol(&function, (const void *)work));
    AFTER(cudaGetKernel(&kernel, (const void *)work));
    AFTER((work<<<1, 32, 64 * 1024>>>(NULL, 0)));
    AFTER(cudaMemcpyToSymbol(counter, &value, sizeof value));
    AFTER(cudaGetSymbolAddress(&address, counter));
    AFTER(cudaPointerGetAttributes(&pointer, &shared_counter));
    AFTER(cudaDeviceSynchronize());
    AFTER(cudaMalloc(&address, 16));
    AFTER(cudaMemset(address, 0, 16));
    AFTER(cudaMemcpy(&value, address, 4, cudaMemcpyDeviceToHost));
    AFTER(cudaFree(address));
    AFTER(cudaStreamCreate(&stream));
    AFTER(cudaStreamSynchronize(stream));
    AFTER(cudaEventCreate(&event));
    AFTER(cudaEventRecord(event, stream));
    AFTER(cudaSetDevice(0));
    AFTER(cudaMemGetInfo(&offset, &size));
    AFTER(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    AFTER(cudaRuntimeGetVersion(&value));
}

static void kernels()
{
    struct cudaFuncAttributes attributes;
    const char *name;
    size_t offset, size;
    int blocks;
    cudaFunction_t function;

    ASK(cudaFuncGetAttributes(&attributes, work));
    SHOW(attributes.maxThreadsPerBlock);
    SHOW(attributes.sharedSizeBytes);
    SHOW(attributes.maxDynamicSharedSizeBytes);
    ASK(cudaFuncGetName(&name, (const void *)work));
    printf("%s\n", name);
    ASK(cudaFuncGetParamInfo((const void *)work, 1, &offset, &size));
    SHOW(offset);
    SHOW(size);
    ASK(cudaGetLastError());
    ASK(cudaFuncGetParamInfo((const void *)work, 2, &offset, &size));
    ASK(cudaPeekAtLastError());
    work<<<1, 32>>>(NULL, 0);
    ASK(cudaPeekAtLastError());
    ASK(cudaMalloc((void **)NULL, 16));
    work<<<1, 32>>>(NULL, 0);
    ASK(cudaPeekAtLastError());
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, work, 1024, 0));
    SHOW(blocks);
    ASK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    work<<<1, 32, 64 * 1024>>>(NULL, 0);
    ASK(cudaGetLastError());
    ASK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    ASK(cudaGetFuncBySymbol(&function, (const void *)work));
    ASK(cudaDeviceSynchronize());
}

int main()
{
    launches();
    variables();
    last_error();
    kernels();
    ASK(cudaDeviceReset());
    return 0;
}
