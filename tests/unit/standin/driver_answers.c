/* Questions to libcuda that every driver must answer alike. */
#include "answers.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".global .align 4 .u32 counter;\n"
                          ".visible .entry work(.param .u64 where, .param .u32 count)\n{\n\tret;\n}\n"
                          ".visible .entry nothing()\n{\n\tret;\n}\n";

static const char *name_of(CUresult result)
{
    const char *name = "?";

    cuGetErrorName(result, &name);
    return name;
}
#define NAME_OF name_of

static CUdevice device;
static CUcontext context;

static void before_init(void)
{
    int number;
    CUdeviceptr memory;
    void *host;
    unsigned flags;

    ASK(cuDeviceGetCount(&number));
    ASK(cuDeviceGet(&device, 0));
    ASK(cuMemAlloc_v2(&memory, 16));
    ASK(cuCtxGetCurrent(&context));
    ASK(cuDevicePrimaryCtxGetState(0, &flags, &number));
    ASK(cuMemHostAlloc(&host, 16, 0));
    ASK(cuDriverGetVersion(&number));
    ASK(cuDriverGetVersion(NULL));
    ASK(cuInit(1));
    ASK(cuInit(0));
}

static void devices(void)
{
    char text[64];
    int number, active;
    unsigned flags;
    size_t bytes;
    CUuuid uuid;

    ASK(cuDeviceGetCount(NULL));
    ASK(cuDeviceGet(&device, -1));
    ASK(cuDeviceGet(&device, 1000));
    ASK(cuDeviceGet(NULL, 0));
    ASK(cuDeviceGet(&device, 0));
    ASK(cuDeviceGetName(text, sizeof text, 1000));
    ASK(cuDeviceGetName(NULL, 4, device));
    ASK(cuDeviceGetName(text, 4, device));
    SHOW(strlen(text));
    ASK(cuDeviceTotalMem_v2(NULL, device));
    ASK(cuDeviceTotalMem_v2(&bytes, 1000));
    ASK(cuDeviceGetUuid_v2(&uuid, 1000));
    ASK(cuDeviceGetAttribute(&number, 0, device));
    ASK(cuDeviceGetAttribute(&number, 100000, device));
    ASK(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    ASK(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1000));
    ASK(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    SHOW(number);
    ASK(cuDeviceGetPCIBusId(text, 4, device));
    ASK(cuDeviceGetByPCIBusId(&number, "0000:ff:1f.0"));
    ASK(cuDeviceGetByPCIBusId(&number, "rubbish"));
    ASK(cuDeviceCanAccessPeer(&number, device, device));
    SHOW(number);
    ASK(cuDevicePrimaryCtxGetState(device, &flags, &active));
    SHOW(flags);
    SHOW(active);
    ASK(cuDevicePrimaryCtxRelease_v2(device));
}

static void contexts(void)
{
    CUcontext other = NULL, popped = NULL;
    CUdevice current;
    CUdeviceptr memory;
    unsigned flags;
    int least, greatest;
    size_t bytes;
    CUfunc_cache cache;

    ASK(cuMemAlloc_v2(&memory, 16));
    ASK(cuCtxGetCurrent(&other));
    SHOW(other == NULL);
    ASK(cuCtxGetDevice(&current));
    ASK(cuCtxSynchronize());
    ASK(cuCtxPopCurrent_v2(&popped));
    ASK(cuCtxPushCurrent_v2(NULL));
    ASK(cuCtxSetCurrent(NULL));
    ASK(cuCtxCreate_v2(NULL, 0, device));
    ASK(cuCtxCreate_v2(&other, 0, 1000));
    ASK(cuCtxCreate_v2(&other, 0xffff, device));
    ASK(cuCtxCreate_v2(&other, 0, device));
    ASK(cuCtxGetDevice(&current));
    SHOW(current);
    ASK(cuCtxGetFlags(&flags));
    SHOW(flags);
    ASK(cuCtxPopCurrent_v2(&popped));
    SHOW(popped == other);
    ASK(cuCtxPushCurrent_v2(other));
    ASK(cuCtxDestroy_v2(other));
    ASK(cuCtxDestroy_v2(NULL));
    ASK(cuCtxGetCurrent(&popped));
    SHOW(popped == NULL);
    ASK(cuDevicePrimaryCtxRetain(NULL, device));
    ASK(cuDevicePrimaryCtxRetain(&context, 1000));
    ASK(cuDevicePrimaryCtxRetain(&context, device));
    ASK(cuCtxSetCurrent(context));
    ASK(cuCtxGetStreamPriorityRange(&least, &greatest));
    SHOW(least);
    SHOW(greatest);
    ASK(cuCtxGetLimit(&bytes, 100));
    ASK(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
    ASK(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    ASK(cuCtxGetCacheConfig(&cache));
    SHOW(cache);
    ASK(cuCtxSetCacheConfig(77));
}

static void memory(void)
{
    CUdeviceptr block, other, base;
    size_t size, pitch, free_bytes, total;
    void *host;
    unsigned flags;
    static char bytes[4096];

    ASK(cuMemAlloc_v2(NULL, 16));
    ASK(cuMemAlloc_v2(&block, 0));
    ASK(cuMemAlloc_v2(&block, (size_t)1 << 60));
    ASK(cuMemAlloc_v2(&block, 1000));
    SHOW(block % 512);
    ASK(cuMemGetAddressRange_v2(&base, &size, block + 10));
    SHOW(base == block);
    SHOW(size);
    ASK(cuMemGetAddressRange_v2(NULL, NULL, block));
    ASK(cuMemGetAddressRange_v2(&base, &size, (CUdeviceptr)bytes));
    ASK(cuMemcpyHtoD_v2(block, bytes, 1000));
    ASK(cuMemcpyHtoD_v2(block, bytes, 0));
    ASK(cuMemcpyHtoD_v2(block, NULL, 10));
    ASK(cuMemcpyHtoD_v2(0, bytes, 10));
    ASK(cuMemcpyDtoH_v2(bytes, block, 1000));
    ASK(cuMemcpyDtoH_v2(NULL, block, 10));
    ASK(cuMemcpy(block, (CUdeviceptr)bytes, 10));
    ASK(cuMemsetD8_v2(block, 1, 1000));
    ASK(cuMemsetD8_v2(block, 1, 0));
    ASK(cuMemsetD8_v2(0, 1, 10));
    ASK(cuMemsetD16_v2(block + 1, 1, 10));
    ASK(cuMemsetD32_v2(block + 2, 1, 10));
    ASK(cuMemFree_v2(block + 8));
    ASK(cuMemFree_v2(0));
    ASK(cuMemFree_v2(0x1234));
    ASK(cuMemFree_v2((CUdeviceptr)bytes));
    ASK(cuMemFree_v2(block));
    ASK(cuMemFree_v2(block));
    ASK(cuMemAllocPitch_v2(&block, &pitch, 100, 10, 3));
    ASK(cuMemAllocPitch_v2(&block, &pitch, 0, 10, 4));
    ASK(cuMemAllocPitch_v2(&block, &pitch, 100, 10, 4));
    SHOW(pitch);
    ASK(cuMemFree_v2(block));
    ASK(cuMemAllocManaged(&block, 100, 0));
    ASK(cuMemAllocManaged(&block, 0, CU_MEM_ATTACH_GLOBAL));
    ASK(cuMemAllocManaged(&block, 100, CU_MEM_ATTACH_GLOBAL));
    ASK(cuMemFree_v2(block));
    host = bytes;
    ASK(cuMemHostAlloc(&host, 0, 0));
    SHOW(host == NULL);
    SHOW(host == bytes);
    ASK(cuMemAllocHost_v2(&host, 0));
    ASK(cuMemHostAlloc(&host, 100, 0xff));
    ASK(cuMemHostAlloc(&host, 100, 0));
    ASK(cuMemHostGetFlags(&flags, host));
    SHOW(flags);
    ASK(cuMemHostGetFlags(&flags, bytes));
    ASK(cuMemHostGetDevicePointer_v2(&other, host, 0));
    SHOW(other == (CUdeviceptr)host);
    ASK(cuMemHostGetDevicePointer_v2(&other, host, 1));
    ASK(cuMemFree_v2((CUdeviceptr)host));
    ASK(cuMemFreeHost(host));
    ASK(cuMemFreeHost(host));
    ASK(cuMemFreeHost(NULL));
    ASK(cuMemHostRegister_v2(bytes, sizeof bytes, 0));
    ASK(cuMemHostRegister_v2(bytes, sizeof bytes, 0));
    ASK(cuMemHostUnregister(bytes));
    ASK(cuMemHostUnregister(bytes));
    ASK(cuMemHostRegister_v2(NULL, 16, 0));
    ASK(cuMemGetInfo_v2(NULL, &total));
    ASK(cuMemGetInfo_v2(&free_bytes, NULL));
    ASK(cuMemGetInfo_v2(&free_bytes, &total));
    SHOW(free_bytes <= total);
}

static void pointers(void)
{
    CUdeviceptr block = 0, answer;
    CUcontext owner = NULL;
    unsigned type = 77;
    int ordinal = 77;
    static char bytes[16];
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *answers[] = {&type, &ordinal};

    ASK(cuMemAlloc_v2(&block, 1000));
    ASK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block + 4));
    SHOW(type);
    ASK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, block));
    SHOW(owner == context);
    ASK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_HOST_POINTER, block));
    ASK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, block + 4));
    SHOW(answer == block + 4);
    ASK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, block + 4));
    SHOW(answer == block);
    ASK(cuPointerGetAttribute(&answer, CU_POINTER_ATTRIBUTE_RANGE_SIZE, block + 4));
    SHOW(answer);
    ASK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)bytes));
    ASK(cuPointerGetAttribute(&type, 1000, block));
    ASK(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block));
    ASK(cuPointerGetAttributes(2, wanted, answers, (CUdeviceptr)bytes));
    SHOW(type);
    SHOW(ordinal);
    ASK(cuPointerGetAttributes(2, wanted, answers, block));
    SHOW(type);
    SHOW(ordinal);
    ASK(cuMemFree_v2(block));
}

static void streams(void)
{
    CUstream stream = NULL;
    CUevent event, later, untimed;
    unsigned flags;
    int priority;
    float milliseconds;
    CUstreamCaptureStatus capture;

    ASK(cuStreamCreate(NULL, 0));
    ASK(cuStreamCreate(&stream, 77));
    ASK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ASK(cuStreamGetFlags(stream, &flags));
    SHOW(flags);
    ASK(cuStreamGetPriority(stream, &priority));
    SHOW(priority);
    ASK(cuStreamGetFlags(NULL, &flags));
    SHOW(flags);
    ASK(cuStreamIsCapturing(stream, &capture));
    SHOW(capture);
    ASK(cuStreamIsCapturing(stream, NULL));
    ASK(cuStreamQuery(stream));
    ASK(cuStreamSynchronize(stream));
    ASK(cuStreamSynchronize(CU_STREAM_LEGACY));
    ASK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    ASK(cuEventCreate(NULL, 0));
    ASK(cuEventCreate(&event, 0x100));
    ASK(cuEventCreate(&event, 0));
    ASK(cuEventCreate(&later, 0));
    ASK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    ASK(cuEventQuery(event));
    ASK(cuEventElapsedTime_v2(&milliseconds, event, later));
    ASK(cuEventRecord(event, stream));
    ASK(cuEventRecord(later, stream));
    ASK(cuEventRecord(untimed, stream));
    ASK(cuEventSynchronize(later));
    ASK(cuEventQuery(later));
    ASK(cuEventElapsedTime_v2(&milliseconds, event, later));
    SHOW(milliseconds >= 0);
    ASK(cuEventElapsedTime_v2(&milliseconds, event, untimed));
    ASK(cuEventElapsedTime_v2(NULL, event, later));
    ASK(cuStreamWaitEvent(stream, later, 0));
    ASK(cuEventDestroy_v2(event));
    ASK(cuEventDestroy_v2(NULL));
    ASK(cuStreamDestroy_v2(NULL));
    ASK(cuStreamDestroy_v2(stream));
}

static void pools(void)
{
    CUmemoryPool pool = NULL, same = NULL;
    CUdeviceptr block;
    cuuint64_t amount = 77;
    int reuse = 77;

    ASK(cuDeviceGetDefaultMemPool(&pool, device));
    ASK(cuDeviceGetMemPool(&same, device));
    SHOW(pool == same);
    ASK(cuDeviceGetDefaultMemPool(&pool, 1000));
    ASK(cuMemAllocAsync(&block, 1000, NULL));
    ASK(cuMemAllocAsync(NULL, 10, NULL));
    ASK(cuMemFreeAsync(block, NULL));
    block = 5;
    ASK(cuMemFreeAsync(block, NULL));
    ASK(cuMemAllocAsync(&block, 0, NULL));
    SHOW(block);
    ASK(cuMemFreeAsync(0, NULL));
    ASK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &amount));
    SHOW(amount);
    ASK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    SHOW(reuse);
    ASK(cuMemPoolGetAttribute(pool, 1000, &amount));
    amount = 5;
    ASK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &amount));
    ASK(cuMemPoolTrimTo(pool, 0));
    ASK(cuMemPoolDestroy(pool));
}

static void addresses(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr address;
    size_t granularity, unit = 2 << 20;
    char byte = 1;

    ASK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SHOW(granularity);
    ASK(cuMemCreate(&handle, 1000, &prop, 0));
    ASK(cuMemCreate(&handle, unit, NULL, 0));
    ASK(cuMemCreate(&handle, unit, &prop, 0));
    ASK(cuMemAddressReserve(&address, 1000, 0, 0, 0));
    ASK(cuMemAddressReserve(&address, 2 * unit, 0, 0, 0));
    ASK(cuMemMap(address, unit, 0, handle, 1));
    ASK(cuMemMap(address, unit, 0, handle, 0));
    ASK(cuMemMap(address, unit, 0, handle, 0));
    ASK(cuMemSetAccess(address, unit, &access, 1));
    ASK(cuMemSetAccess(address, 2 * unit, &access, 1));
    ASK(cuMemcpyHtoD_v2(address, &byte, 1));
    ASK(cuMemFree_v2(address));
    ASK(cuMemRetainAllocationHandle(&again, (void *)address));
    SHOW(again == handle);
    ASK(cuMemRelease(again));
    ASK(cuMemUnmap(address, unit / 2));
    ASK(cuMemUnmap(address, unit));
    ASK(cuMemUnmap(address, unit));
    ASK(cuMemRelease(handle));
    ASK(cuMemAddressFree(address, unit));
    ASK(cuMemAddressFree(address, 2 * unit));
}

static void code(void)
{
    CUmodule module;
    CUfunction function, empty;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr global, where = 0;
    unsigned count = 0;
    size_t size, offset;
    int value, blocks;
    const char *name;
    void *arguments[] = {&where, &count};

    ASK(cuModuleLoadData(&module, "this is no code at all"));
    ASK(cuModuleLoadData(&module, NULL));
    ASK(cuLibraryLoadData(&library, "this is no code at all", NULL, NULL, 0, NULL, NULL, 0));
    ASK(cuLibraryGetKernel(&kernel, library, "work"));
    ASK(cuLibraryGetKernelCount(&count, library));
    ASK(cuLibraryGetModule(&module, library));
    ASK(cuLibraryUnload(library));
    ASK(cuLibraryLoadFromFile(&library, "/nowhere/to/be/found.ptx", NULL, NULL, 0, NULL, NULL, 0));
    ASK(cuModuleLoad(&module, "/nowhere/to/be/found.ptx"));
    ASK(cuModuleLoadData(&module, ptx));
    ASK(cuModuleGetFunction(&function, module, "missing"));
    ASK(cuModuleGetFunction(&function, module, NULL));
    ASK(cuModuleGetFunction(NULL, module, "work"));
    ASK(cuModuleGetFunction(&function, module, "work"));
    ASK(cuModuleGetFunction(&empty, module, "nothing"));
    ASK(cuModuleGetFunctionCount(&count, module));
    SHOW(count);
    ASK(cuModuleGetGlobal_v2(&global, &size, module, "counter"));
    SHOW(size);
    ASK(cuModuleGetGlobal_v2(&global, &size, module, "missing"));
    ASK(cuModuleGetGlobal_v2(NULL, NULL, module, "counter"));
    ASK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    SHOW(value);
    ASK(cuFuncGetAttribute(&value, 1000, function));
    ASK(cuFuncGetParamInfo(function, 1, &offset, &size));
    SHOW(offset);
    SHOW(size);
    ASK(cuFuncGetParamInfo(function, 2, &offset, &size));
    ASK(cuFuncGetName(&name, function));
    SHOW(strcmp(name, "work"));
    ASK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    ASK(cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 0, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 512, 4, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 65, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 65536, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, arguments, NULL));
    ASK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    ASK(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuLaunchCooperativeKernel(function, 100000, 1, 1, 1024, 1, 1, 0, NULL, arguments));
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
    ASK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
    SHOW(blocks);
    ASK(cuCtxSynchronize());
    ASK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    ASK(cuLibraryGetKernel(&kernel, library, "missing"));
    ASK(cuLibraryGetKernel(&kernel, library, "work"));
    ASK(cuLibraryGetKernelCount(&count, library));
    SHOW(count);
    ASK(cuKernelGetFunction(&function, kernel));
    ASK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    ASK(cuCtxSynchronize());
    ASK(cuLibraryUnload(library));
    ASK(cuModuleUnload(module));
    ASK(cuModuleUnload(NULL));
}

static void entry_points(void)
{
    const CUuuid unknown = {"rubbish"};
    const void *table;
    const char *text;
    CUdriverProcAddressQueryResult status;
    void *address, *same;

    ASK(cuGetProcAddress_v2("cuMemAlloc", &address, 3020, 0, &status));
    SHOW(status);
    SHOW(address == (void *)cuMemAlloc_v2);
    ASK(cuGetProcAddress_v2("cuMemAlloc", &same, 13000, 0, &status));
    SHOW(address == same);
    ASK(cuGetProcAddress_v2("cuMemAlloc", &same, 2000, 0, &status));
    SHOW(address == same);
    ASK(cuGetProcAddress_v2("cuMemAlloc", &same, 1000, 0, &status));
    SHOW(status);
    SHOW(same == NULL);
    ASK(cuGetProcAddress_v2("cuMemAlloc", &same, 1000, 0, NULL));
    ASK(cuGetProcAddress_v2("cuMemAlloc_v2", &same, 13000, 0, &status));
    SHOW(status);
    ASK(cuGetProcAddress_v2("cuNoSuchThing", &same, 13000, 0, &status));
    SHOW(status);
    ASK(cuGetProcAddress_v2("cuNoSuchThing", &same, 13000, 0, NULL));
    ASK(cuGetProcAddress_v2("", &same, 0, 0, NULL));
    ASK(cuGetProcAddress("cuMemAlloc", &same, 13000, 0));
    SHOW(address == same);
    ASK(cuGetProcAddress("cuNoSuchThing", &same, 13000, 0));
    SHOW(same == NULL);
    ASK(cuGetProcAddress("cuMemAlloc", &same, 1000, 0));
    ASK(cuGetProcAddress_v2("cuInit", &same, 13000, 64, &status));
    ASK(cuGetProcAddress_v2("cuInit", &same, 13000, 3, &status));
    ASK(cuGetProcAddress_v2("cuInit", &same, -1, 0, &status));
    SHOW(status);
    ASK(cuGetProcAddress_v2("cuStreamQuery", &address, 13000, 0, &status));
    ASK(cuGetProcAddress_v2("cuStreamQuery", &same, 13000, 2, &status));
    SHOW(address == same);
    ASK(cuGetProcAddress_v2("cuStreamQuery", &same, 6000, 2, &status));
    SHOW(status);
    SHOW(address == same);
    ASK(cuGetProcAddress_v2("cuMemFree", &same, 13000, 2, &status));
    SHOW(same == (void *)cuMemFree_v2);
    ASK(cuGetProcAddress_v2("cuGetProcAddress", &same, 11030, 0, &status));
    SHOW(same == (void *)cuGetProcAddress);
    ASK(cuGetProcAddress_v2("cuGetProcAddress", &same, 12000, 0, &status));
    SHOW(same == (void *)cuGetProcAddress_v2);
    ASK(cuGetExportTable(&table, NULL));
    ASK(cuGetExportTable(NULL, &unknown));
    ASK(cuGetErrorName(12345, &text));
    SHOW(text == NULL);
    ASK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    SHOW(strcmp(text, "out of memory"));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    before_init();
    devices();
    contexts();
    memory();
    pointers();
    streams();
    pools();
    addresses();
    code();
    entry_points();
    ASK(cuDevicePrimaryCtxRelease_v2(device));
    return 0;
}
