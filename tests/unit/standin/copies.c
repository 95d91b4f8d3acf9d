/* Bytes that go through the driver must come back the same: every kind of copy and fill, checked byte by byte.
 * Prints the line of what went wrong, and nothing when all is well. */
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

static int failures;

static void expect(int line, int truth, const char *what)
{
    if (truth)
        return;
    printf("line %d: %s\n", line, what);
    failures++;
}
#define EXPECT(truth) expect(__LINE__, (truth), #truth)
#define OK(call) EXPECT((call) == CUDA_SUCCESS)

enum { SIZE = 4096, WIDTH = 37, HEIGHT = 11, DEPTH = 3 };

static unsigned char source[SIZE], back[SIZE];

static void linear(size_t size)
{
    CUdeviceptr from, to;

    OK(cuMemAlloc_v2(&from, size));
    OK(cuMemAlloc_v2(&to, size));
    OK(cuMemcpyHtoD_v2(from + size - SIZE, source, SIZE));
    OK(cuMemcpyDtoD_v2(to, from + size - SIZE, SIZE));
    memset(back, 0, SIZE);
    OK(cuMemcpyDtoH_v2(back, to, SIZE));
    EXPECT(memcmp(source, back, SIZE) == 0);
    EXPECT(cuMemcpyHtoD_v2(from + size - SIZE + 1, source, SIZE) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(from));
    OK(cuMemFree_v2(to));
}

static void asynchronous(void)
{
    CUstream stream;
    CUdeviceptr block;
    void *host;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&host, SIZE, 0));
    memcpy(host, source, SIZE);
    OK(cuMemAllocAsync(&block, SIZE, stream));
    OK(cuMemcpyHtoDAsync_v2(block, host, SIZE, stream));
    memset(host, 0, SIZE);
    OK(cuMemcpyDtoHAsync_v2(host, block, SIZE, stream));
    OK(cuMemFreeAsync(block, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(memcmp(source, host, SIZE) == 0);
    OK(cuMemFreeHost(host));
    OK(cuStreamDestroy_v2(stream));
}

static void fills(void)
{
    CUdeviceptr block;
    unsigned short words[4];
    unsigned numbers[4];

    OK(cuMemAlloc_v2(&block, SIZE));
    OK(cuMemsetD8_v2(block, 0xab, SIZE));
    OK(cuMemsetD16_v2(block + 2, 0x1234, 2));
    OK(cuMemcpyDtoH_v2(words, block, sizeof words));
    EXPECT(words[0] == 0xabab && words[1] == 0x1234 && words[2] == 0x1234 && words[3] == 0xabab);
    OK(cuMemsetD32_v2(block + 4, 0xdeadbeef, 2));
    OK(cuMemcpyDtoH_v2(numbers, block, sizeof numbers));
    EXPECT(numbers[1] == 0xdeadbeef && numbers[2] == 0xdeadbeef && numbers[3] == 0xabababab);
    OK(cuMemsetD2D8_v2(block, 64, 0, 8, 2));
    OK(cuMemcpyDtoH_v2(back, block, SIZE));
    EXPECT(back[7] == 0 && back[8] == 0xef && back[64 + 7] == 0 && back[64 + 8] == 0xab && back[128] == 0xab);
    OK(cuMemFree_v2(block));
}

static void rows_of_device(void)
{
    CUdeviceptr block;
    size_t pitch;

    OK(cuMemAllocPitch_v2(&block, &pitch, WIDTH, HEIGHT, 4));
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = source, .srcPitch = 100,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = block, .dstPitch = pitch,
                        .WidthInBytes = WIDTH, .Height = HEIGHT};
    CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = block, .srcPitch = pitch,
                         .srcXInBytes = 2, .srcY = 1,
                         .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = WIDTH,
                         .WidthInBytes = WIDTH - 2, .Height = HEIGHT - 1};
    OK(cuMemcpy2D_v2(&in));
    OK(cuMemcpy2D_v2(&out));
    for (int y = 0; y < HEIGHT - 1; y++)
        EXPECT(memcmp(back + y * WIDTH, source + (y + 1) * 100 + 2, WIDTH - 2) == 0);
    in.Height = HEIGHT + 1;
    EXPECT(cuMemcpy2D_v2(&in) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(block));
}

static void slices_of_array(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = WIDTH, .Height = HEIGHT, .Depth = DEPTH,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    CUDA_ARRAY3D_DESCRIPTOR found;
    CUarray array;

    OK(cuArray3DCreate_v2(&array, &shape));
    OK(cuArray3DGetDescriptor_v2(&found, array));
    EXPECT(found.Width == WIDTH && found.Height == HEIGHT && found.Depth == DEPTH);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = source, .srcPitch = WIDTH,
                          .srcHeight = HEIGHT, .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = array,
                          .WidthInBytes = WIDTH, .Height = HEIGHT, .Depth = DEPTH};
    CUDA_MEMCPY3D one = {.srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = array, .srcY = 2, .srcZ = 1,
                         .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = WIDTH,
                         .WidthInBytes = WIDTH, .Height = 1, .Depth = 1};
    OK(cuMemcpy3D_v2(&copy));
    OK(cuMemcpy3D_v2(&one));
    EXPECT(memcmp(back, source + (HEIGHT + 2) * WIDTH, WIDTH) == 0);
    copy.Depth = DEPTH + 1;
    EXPECT(cuMemcpy3D_v2(&copy) == CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
    EXPECT(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
}

/* The same physical memory at two addresses. */
static void mapped_twice(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle, imported;
    CUdeviceptr room;
    size_t unit;
    int file;

    OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, unit, &prop, 0));
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&imported, (void *)(size_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(cuMemAddressReserve(&room, 2 * unit, 0, 0, 0));
    OK(cuMemMap(room, unit, 0, handle, 0));
    OK(cuMemMap(room + unit, unit, 0, imported, 0));
    OK(cuMemSetAccess(room, 2 * unit, &access, 1));
    OK(cuMemcpyHtoD_v2(room + 5, source, SIZE));
    OK(cuMemcpyDtoH_v2(back, room + unit + 5, SIZE));
    EXPECT(memcmp(source, back, SIZE) == 0);
    OK(cuMemsetD8_v2(room + unit - 8, 7, 16)); /* across both */
    OK(cuMemRelease(handle));
    OK(cuMemRelease(imported));
    OK(cuMemUnmap(room, 2 * unit));
    EXPECT(cuMemcpyHtoD_v2(room, source, 1) == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressFree(room, 2 * unit));
}

static size_t in_use(void)
{
    size_t free_bytes, total;

    OK(cuMemGetInfo_v2(&free_bytes, &total));
    return total - free_bytes;
}

/* It takes no memory, and keeps that of which it is. */
static void imported(void)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle, other;
    size_t before = in_use(), unit;
    int file;

    OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(&handle, unit, &prop, 0));
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&other, (void *)(size_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    EXPECT(in_use() == before + unit);
    OK(cuMemRelease(handle));
    EXPECT(cuMemRelease(handle) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(in_use() == before + unit);
    OK(cuMemRelease(other));
    EXPECT(in_use() == before);
    EXPECT(cuMemImportFromShareableHandle(&other, (void *)(size_t)1000, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
           CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    CUcontext context;
    size_t before, after, total;

    for (int i = 0; i < SIZE; i++)
        source[i] = (unsigned char)(i * 7 + i / 256);
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemGetInfo_v2(&before, &total));
    linear(SIZE);
    linear((size_t)3 << 30); /* costs address space, not memory */
    asynchronous();
    fills();
    rows_of_device();
    slices_of_array();
    mapped_twice();
    imported();
    OK(cuMemGetInfo_v2(&after, &total));
    EXPECT(before == after);
    OK(cuCtxDestroy_v2(context));
    return failures != 0;
}
