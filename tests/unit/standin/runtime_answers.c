/* Questions to libcudart that every runtime must answer alike. */
#include "answers.h"

#define NAME_OF cudaGetErrorName

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".global .align 4 .u32 counter;\n"
                          ".visible .entry work(.param .u64 where, .param .u32 count)\n{\n\tret;\n}\n";

static char bytes[4096];

static void errors(void)
{
    void *block;

    ASK(cudaGetLastError());
    ASK(cudaMalloc(NULL, 16));
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
    ASK(cudaMalloc(&block, (size_t)1 << 60));
    ASK(cudaMalloc(&block, 0));
    SHOW(block == NULL);
    ASK(cudaGetLastError());
    ASK(cudaFree(bytes));
    ASK(cudaFree(NULL));
    ASK(cudaGetLastError());
    printf("%s\n", cudaGetErrorString(cudaSuccess));
    printf("%s\n", cudaGetErrorString(cudaErrorMemoryAllocation));
    printf("%s\n", cudaGetErrorName((cudaError_t)12345));
    printf("%s\n", cudaGetErrorString((cudaError_t)12345));
}

/* Which calls leave a trace in the last error, and which take it away. */
static void last_error(void)
{
    int value;
    struct cudaFuncAttributes attributes;
    size_t size;

    cudaMalloc(NULL, 16);
    ASK(cudaDeviceSynchronize());
    ASK(cudaPeekAtLastError());
    ASK(cudaMemset(NULL, 0, 0));
    ASK(cudaPeekAtLastError());
    ASK(cudaGetDevice(&value));
    ASK(cudaGetLastError());
    ASK(cudaFuncGetAttributes(&attributes, bytes));
    ASK(cudaGetLastError());
    ASK(cudaFuncGetParamInfo(bytes, 0, &size, &size));
    ASK(cudaGetLastError());
    ASK(cudaDeviceGetAttribute(&value, 100000, 0));
    ASK(cudaGetLastError());
    ASK(cudaSetDevice(1000));
    ASK(cudaGetLastError());
    ASK(cudaGetDeviceCount(NULL));
    ASK(cudaGetLastError());
    ASK(cudaEventDestroy(NULL));
    ASK(cudaGetLastError());
    ASK(cudaPointerGetAttributes(NULL, bytes));
    ASK(cudaGetLastError());
    ASK(cudaGetDeviceProperties(NULL, 0));
    ASK(cudaGetLastError());
    ASK(cudaRuntimeGetVersion(NULL));
    ASK(cudaGetLastError());
}

static void devices(void)
{
    int number;
    unsigned flags;
    struct cudaDeviceProp properties;

    ASK(cudaGetDeviceCount(NULL));
    ASK(cudaGetDevice(&number));
    SHOW(number);
    ASK(cudaGetDevice(NULL));
    ASK(cudaSetDevice(-1));
    ASK(cudaSetDevice(1000));
    ASK(cudaSetDevice(0));
    ASK(cudaGetDeviceFlags(&flags));
    SHOW(flags);
    ASK(cudaGetDeviceProperties(&properties, 1000));
    ASK(cudaGetDeviceProperties(NULL, 0));
    ASK(cudaGetDeviceProperties(&properties, 0));
    SHOW(properties.warpSize);
    SHOW(properties.maxThreadsPerBlock);
    SHOW(properties.maxThreadsDim[2]);
    SHOW(properties.maxGridSize[0]);
    SHOW(properties.maxGridSize[1]);
    SHOW(properties.sharedMemPerBlock);
    SHOW(properties.totalConstMem);
    SHOW(properties.unifiedAddressing);
    ASK(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 0));
    SHOW(number);
    ASK(cudaDeviceGetAttribute(&number, 100000, 0));
    ASK(cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 1000));
    ASK(cudaDeviceCanAccessPeer(&number, 0, 1000));
    ASK(cudaDeviceEnablePeerAccess(0, 0));
    ASK(cudaDeviceEnablePeerAccess(1000, 0));
    ASK(cudaRuntimeGetVersion(NULL));
    ASK(cudaDeviceSynchronize());
    ASK(cudaGetLastError());
}

static void memory(void)
{
    void *block, *host, *other;
    size_t pitch, free_bytes, total;
    unsigned flags;
    struct cudaPointerAttributes attributes;

    ASK(cudaMalloc(&block, 1000));
    ASK(cudaMemcpy(block, bytes, 1000, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(bytes, block, 1000, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(bytes, block, 1000, cudaMemcpyDefault));
    ASK(cudaMemcpy(bytes, bytes + 100, 100, cudaMemcpyHostToHost));
    ASK(cudaMemcpy(bytes, block, 1000, (enum cudaMemcpyKind)77));
    ASK(cudaMemcpy(NULL, bytes, 10, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(block, NULL, 10, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(block, bytes, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemset(block, 1, 1000));
    ASK(cudaMemset(NULL, 1, 10));
    ASK(cudaMemset(block, 1, 0));
    ASK(cudaPointerGetAttributes(&attributes, block));
    SHOW(attributes.type);
    SHOW(attributes.device);
    SHOW(attributes.devicePointer == block);
    SHOW(attributes.hostPointer == NULL);
    ASK(cudaPointerGetAttributes(&attributes, bytes));
    SHOW(attributes.type);
    SHOW(attributes.device);
    SHOW(attributes.devicePointer == NULL);
    SHOW(attributes.hostPointer == bytes);
    ASK(cudaPointerGetAttributes(NULL, block));
    ASK(cudaFree(block));
    ASK(cudaFree(block));
    ASK(cudaMallocPitch(&block, &pitch, 100, 10));
    SHOW(pitch);
    ASK(cudaMemcpy2D(block, pitch, bytes, 50, 100, 10, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(block, pitch, bytes, 100, 100, 10, cudaMemcpyHostToDevice));
    ASK(cudaMemset2D(block, pitch, 1, 100, 10));
    ASK(cudaFree(block));
    ASK(cudaMallocHost(&host, 100));
    ASK(cudaHostGetFlags(&flags, host));
    SHOW(flags);
    ASK(cudaHostGetDevicePointer(&other, host, 0));
    SHOW(other == host);
    ASK(cudaPointerGetAttributes(&attributes, host));
    SHOW(attributes.type);
    ASK(cudaFree(host));
    ASK(cudaFreeHost(host));
    ASK(cudaFreeHost(bytes));
    ASK(cudaFreeHost(NULL));
    ASK(cudaHostAlloc(&host, 100, 0xff));
    ASK(cudaMallocManaged(&block, 0, cudaMemAttachGlobal));
    ASK(cudaMallocManaged(&block, 100, cudaMemAttachGlobal));
    ASK(cudaPointerGetAttributes(&attributes, block));
    SHOW(attributes.type);
    SHOW(attributes.hostPointer == block);
    ASK(cudaFree(block));
    ASK(cudaMallocAsync(&block, 100, NULL));
    ASK(cudaFreeAsync(block, NULL));
    ASK(cudaMallocAsync(&block, 0, NULL));
    ASK(cudaFreeAsync(NULL, NULL));
    ASK(cudaMemGetInfo(&free_bytes, &total));
    SHOW(free_bytes <= total);
    ASK(cudaMemGetInfo(NULL, &total));
    ASK(cudaHostRegister(bytes, sizeof bytes, 0));
    ASK(cudaHostUnregister(bytes));
    ASK(cudaHostUnregister(bytes));
    ASK(cudaGetLastError());
}

static void streams(void)
{
    cudaStream_t stream;
    cudaEvent_t event, later;
    float milliseconds;

    ASK(cudaStreamCreate(NULL));
    ASK(cudaStreamCreateWithFlags(&stream, 77));
    ASK(cudaStreamCreate(&stream));
    ASK(cudaStreamQuery(stream));
    ASK(cudaStreamSynchronize(NULL));
    ASK(cudaEventCreate(&event));
    ASK(cudaEventCreate(&later));
    ASK(cudaEventElapsedTime(&milliseconds, event, later));
    ASK(cudaEventRecord(event, stream));
    ASK(cudaEventRecord(later, stream));
    ASK(cudaEventSynchronize(later));
    ASK(cudaEventElapsedTime(&milliseconds, event, later));
    ASK(cudaEventDestroy(event));
    ASK(cudaEventDestroy(NULL));
    ASK(cudaStreamDestroy(stream));
    ASK(cudaStreamDestroy(NULL));
    ASK(cudaGetLastError());
}

static void kernels(void)
{
    dim3 one = {1, 1, 1}, many = {2048, 1, 1}, none = {0, 1, 1};
    cudaLibrary_t library;
    cudaKernel_t kernel = NULL;
    struct cudaFuncAttributes attributes;
    void *where = NULL;
    unsigned count = 0;
    int blocks;
    size_t size;
    void *arguments[] = {&where, &count};

    ASK(cudaLaunchKernel(bytes, one, one, arguments, 0, NULL));
    ASK(cudaFuncGetAttributes(&attributes, bytes));
    ASK(cudaGetSymbolAddress(&where, bytes));
    ASK(cudaGetSymbolSize(&size, bytes));
    ASK(cudaMemcpyToSymbol(bytes, bytes, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bytes, 128, 0));
    ASK(cudaLibraryLoadData(&library, "no code", NULL, NULL, 0, NULL, NULL, 0));
    ASK(cudaLibraryGetKernel(&kernel, library, "work"));
    ASK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    ASK(cudaLibraryGetKernel(&kernel, library, "missing"));
    ASK(cudaLibraryGetKernel(&kernel, library, "work"));
    ASK(cudaLaunchKernel(kernel, one, one, arguments, 0, NULL));
    ASK(cudaLaunchKernel(kernel, one, many, arguments, 0, NULL));
    ASK(cudaPeekAtLastError());
    ASK(cudaLaunchKernel(kernel, none, one, arguments, 0, NULL));
    ASK(cudaLaunchKernel(kernel, one, one, arguments, 1 << 20, NULL));
    ASK(cudaFuncGetAttributes(&attributes, kernel));
    SHOW(attributes.maxThreadsPerBlock);
    ASK(cudaDeviceSynchronize());
    ASK(cudaLibraryUnload(library));
    ASK(cudaGetLastError());
}

static void entry_points(void)
{
    void *function;
    enum cudaDriverEntryPointQueryResult status;

    ASK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000, 0, &status));
    SHOW(status);
    ASK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, 0, &status));
    SHOW(status);
    SHOW(function == NULL);
    ASK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, 0, NULL));
    ASK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 1000, 0, &status));
    SHOW(status);
    ASK(cudaGetLastError());
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    errors();
    last_error();
    devices();
    memory();
    streams();
    kernels();
    entry_points();
    ASK(cudaDeviceReset());
    return 0;
}
