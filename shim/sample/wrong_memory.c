/* Wrong on purpose: writes one byte too many, frees twice, and forgets a block. */
#include "driver_sample.h"

static CUdeviceptr kept, block;
static char bytes[8192];

static void load_model(void)
{
    must("cuMemAlloc", cuMemAlloc(&kept, MiB));
}

static void train(void)
{
    must("cuMemAlloc", cuMemAlloc(&block, 4096));
    cuMemcpyHtoD(block, bytes, 4097);
    cuMemFree(block);
    cuMemFree(block);
}

int main(void)
{
    use_first_device();
    load_model();
    train();
    return 0;
}
