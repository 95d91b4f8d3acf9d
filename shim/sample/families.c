/* families [MIB]: one block of each kind that the driver allocates, 256 MiB unless told otherwise; for each, how much
   memory is in use while it lives and after its release. Exit status 0 all were granted, 1 one was refused. */
#include <string.h>

#include "driver_sample.h"

static size_t bytes = 256 * MiB;

static CUdeviceptr pointer;
static CUmemGenericAllocationHandle physical;
static CUarray array;
static CUmipmappedArray mipmap;

static CUresult free_pointer(void)
{
    return cuMemFree(pointer);
}

static CUresult allocate_linear(void)
{
    return cuMemAlloc(&pointer, bytes);
}

static CUresult allocate_pitched(void)
{
    size_t pitch;
    return cuMemAllocPitch(&pointer, &pitch, 4096, bytes / 4096, 4);
}

static CUresult allocate_managed(void)
{
    return cuMemAllocManaged(&pointer, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult allocate_async(void)
{
    return cuMemAllocAsync(&pointer, bytes, NULL);
}

static CUresult free_async(void)
{
    CUresult result = cuMemFreeAsync(pointer, NULL);
    return result ? result : cuStreamSynchronize(NULL);
}

static CUresult allocate_from_pool(void)
{
    CUmemoryPool pool;
    CUresult result = cuDeviceGetDefaultMemPool(&pool, 0);
    return result ? result : cuMemAllocFromPoolAsync(&pointer, bytes, pool, NULL);
}

static CUresult allocate_physical(void)
{
    CUmemAllocationProp where = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return cuMemCreate(&physical, bytes, &where, 0);
}

static CUresult release_physical(void)
{
    return cuMemRelease(physical);
}

static CUresult create_array(void)
{
    CUDA_ARRAY_DESCRIPTOR wanted = {
        .Width = 16384, .Height = bytes / 16384 / 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    return cuArrayCreate(&array, &wanted);
}

static CUresult create_array_3d(void)
{
    CUDA_ARRAY3D_DESCRIPTOR wanted = {.Width = 1024, .Height = 1024, .Depth = bytes / MiB / 16,
                                      .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
    return cuArray3DCreate(&array, &wanted);
}

static CUresult destroy_array(void)
{
    return cuArrayDestroy(array);
}

static CUresult create_mipmap(void)
{
    CUDA_ARRAY3D_DESCRIPTOR wanted = {
        .Width = 16384, .Height = bytes / 16384 / 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    return cuMipmappedArrayCreate(&mipmap, &wanted, 1);
}

static CUresult destroy_mipmap(void)
{
    return cuMipmappedArrayDestroy(mipmap);
}

static const struct family {
    const char *name;
    CUresult (*allocate)(void);
    CUresult (*release)(void);
} families[] = {
    {"cuMemAlloc", allocate_linear, free_pointer},
    {"cuMemAllocPitch", allocate_pitched, free_pointer},
    {"cuMemAllocManaged", allocate_managed, free_pointer},
    {"cuMemAllocAsync", allocate_async, free_async},
    {"cuMemAllocFromPoolAsync", allocate_from_pool, free_async},
    {"cuMemCreate", allocate_physical, release_physical},
    {"cuArrayCreate", create_array, destroy_array},
    {"cuArray3DCreate", create_array_3d, destroy_array},
    {"cuMipmappedArrayCreate", create_mipmap, destroy_mipmap},
};

static size_t used_mib(void)
{
    size_t available, total;
    must("cuMemGetInfo", cuMemGetInfo(&available, &total));
    return (total - available) / MiB;
}

static int try_family(const struct family *family)
{
    CUresult result = family->allocate();
    if (result) {
        printf("%-24s %s\n", family->name, error_text(result));
        return 0;
    }
    printf("%-24s %zu MiB in use", family->name, used_mib());
    must("release", family->release());
    printf(", then %zu MiB\n", used_mib());
    return 1;
}

int main(int argc, char **argv)
{
    int granted = 1;
    if (argc > 1)
        bytes = strtoul(argv[1], NULL, 10) * MiB;
    use_first_device();
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        granted &= try_family(&families[i]);
    return granted ? 0 : 1;
}
