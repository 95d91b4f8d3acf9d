/* What the stand-in hands out is never an address of malloc or mmap, and comes back as zeros. */
#include "gdbcuda_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPECT(condition) (void)((condition) || (failures++, printf("line %d: %s\n", __LINE__, #condition)))
#define OK(call) EXPECT((call) == CUDA_SUCCESS)

static int failures;

/* As many blocks of the program's own as it takes until malloc would have used the freed addresses. */
static void nobody_else_gets(CUdeviceptr block, size_t size)
{
    enum { TRIES = 200 };
    void *own[TRIES];

    for (int i = 0; i < TRIES; i++) {
        own[i] = malloc(size);
        EXPECT((CUdeviceptr)own[i] + size <= block || block + size <= (CUdeviceptr)own[i]);
    }
    for (int i = 0; i < TRIES; i++)
        free(own[i]);
}

static void freed_and_used_again(size_t size)
{
    CUdeviceptr first, again;

    OK(cuMemAlloc_v2(&first, size));
    memset((void *)first, 7, size);
    OK(cuMemFree_v2(first));
    nobody_else_gets(first, size);
    OK(cuMemAlloc_v2(&again, size));
    EXPECT(again == first); /* the driver does */
    EXPECT(((char *)again)[0] == 0 && ((char *)again)[size - 1] == 0);
    OK(cuMemFree_v2(again));
}

static void page_locked(void)
{
    void *block;

    OK(cuMemAllocHost_v2(&block, 4096));
    OK(cuMemFreeHost(block));
    nobody_else_gets((CUdeviceptr)block, 4096);
}

static void addresses_alone(void)
{
    const size_t unit = 2 << 20;
    CUdeviceptr first, behind, elsewhere;

    OK(cuMemAddressReserve(&first, unit, 0, 0, 0));
    OK(cuMemAddressReserve(&behind, 2 * unit, 0, first + unit, 0));
    EXPECT(behind == first + unit);
    OK(cuMemAddressFree(behind, 2 * unit));
    OK(cuMemAddressReserve(&behind, unit, 0, first + unit, 0));
    EXPECT(behind == first + unit);
    OK(cuMemAddressReserve(&elsewhere, unit, 0, first, 0));
    EXPECT(elsewhere != first);
    OK(cuMemAddressFree(first, unit));
    EXPECT(mmap(NULL, unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != (void *)first);
}

static void many(void)
{
    enum { COUNT = 3000 };
    static CUdeviceptr blocks[COUNT];

    for (int i = 0; i < COUNT; i++)
        OK(cuMemAlloc_v2(&blocks[i], 512 * (1 + i % 400)));
    for (int i = 0; i < COUNT; i++)
        memset((void *)blocks[i], i, 512 * (1 + i % 400));
    for (int i = 0; i < COUNT; i++) {
        EXPECT(((unsigned char *)blocks[i])[512 * (1 + i % 400) - 1] == i % 256);
        OK(cuMemFree_v2(blocks[i]));
    }
}

int main(void)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    freed_and_used_again(1000);
    freed_and_used_again((1 << 20) - 1);
    freed_and_used_again(1 << 20);
    freed_and_used_again(5000000);
    page_locked();
    addresses_alone();
    many();
    OK(cuCtxDestroy_v2(context));
    return failures != 0;
}
