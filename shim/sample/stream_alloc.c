/* Stream-ordered allocation on the default stream and on the per-thread one: a program compiled with
   --default-stream per-thread calls the _ptsz symbol, which a hook library may have forgotten. */
#include "driver_sample.h"

static void show(const char *symbol, CUresult result)
{
    printf("%-22s %s\n", symbol, result ? error_text(result) : "allocated 1 GiB + 1");
}

int main(void)
{
    CUdeviceptr block = 0;
    use_first_device();

    CUresult result = cuMemAllocAsync(&block, GiB + 1, NULL);
    show("cuMemAllocAsync", result);
    if (!result)
        must("cuMemFreeAsync", cuMemFreeAsync(block, NULL));

    result = cuMemAllocAsync_ptsz(&block, GiB + 1, NULL);
    show("cuMemAllocAsync_ptsz", result);
    if (!result)
        must("cuMemFreeAsync_ptsz", cuMemFreeAsync_ptsz(block, NULL));
    return 0;
}
