/* calls [COUNT]: COUNT allocations (a million), every thousandth of them 1 GiB, each freed at once. */
#include "driver_sample.h"

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000000;
    CUdeviceptr block;
    use_first_device();
    for (long i = 1; i <= count; i++) {
        must("cuMemAlloc", cuMemAlloc(&block, i % 1000 ? 4096 : GiB));
        must("cuMemFree", cuMemFree(block));
    }
    return 0;
}
