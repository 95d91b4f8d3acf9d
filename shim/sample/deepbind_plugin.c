/* The plugin of deepbind.c, linked against libcuda; built twice under two names, as one file is loaded only once. */
#include "driver_sample.h"

int plugin_allocate(const char *name);

int plugin_allocate(const char *name)
{
    CUdeviceptr block = 0;
    use_first_device();
    CUresult result = cuMemAlloc_v2(&block, GiB + 1);
    printf("%-20s %s\n", name, result ? error_text(result) : "allocated 1 GiB + 1");
    if (!result)
        must("cuMemFree_v2", cuMemFree_v2(block));
    return 0;
}
