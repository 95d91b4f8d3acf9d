/* What gives memory back to the limit: each release function, and the end of the context that a block lives in. */
#include "limit.h"

HOOK CUresult cuMemFree(CUdeviceptr_v1 dptr)
{
    struct block *block = ledger_take(BLOCK_POINTER, dptr);
    return ledger_settle(block, FORWARD(cuMemFree, dptr));
}

HOOK CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    struct block *block = ledger_take(BLOCK_POINTER, dptr);
    return ledger_settle(block, FORWARD(cuMemFree_v2, dptr));
}

/* Counted as free at once, though the driver waits for the stream. */
HOOK CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    struct block *block = ledger_take(BLOCK_POINTER, dptr);
    return ledger_settle(block, FORWARD(cuMemFreeAsync, dptr, hStream));
}

HOOK CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    struct block *block = ledger_take(BLOCK_POINTER, dptr);
    return ledger_settle(block, FORWARD(cuMemFreeAsync_ptsz, dptr, hStream));
}

HOOK CUresult cuArrayDestroy(CUarray hArray)
{
    struct block *block = ledger_take(BLOCK_ARRAY, (uintptr_t)hArray);
    return ledger_settle(block, FORWARD(cuArrayDestroy, hArray));
}

HOOK CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    struct block *block = ledger_take(BLOCK_MIPMAP, (uintptr_t)hMipmappedArray);
    return ledger_settle(block, FORWARD(cuMipmappedArrayDestroy, hMipmappedArray));
}
