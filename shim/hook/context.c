/* Contexts take their blocks with them. A primary context, which all of a process shares and the runtime uses, ends
   with its last release or with a reset; its handle is noted when it is retained. */
#include "limit.h"

static CUcontext primary_contexts[MOST_DEVICES];

static CUcontext *primary_context(CUdevice device)
{
    static CUcontext none;
    return device >= 0 && device < MOST_DEVICES ? &primary_contexts[device] : &none;
}

static CUresult forget_if_inactive(CUresult result, CUdevice device)
{
    unsigned int flags;
    int active = 1;
    if (result == CUDA_SUCCESS && cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && !active)
        ledger_forget_context(*primary_context(device));
    return result;
}

HOOK CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult result = FORWARD(cuDevicePrimaryCtxRetain, pctx, dev);
    if (result == CUDA_SUCCESS)
        *primary_context(dev) = *pctx;
    return result;
}

HOOK CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return forget_if_inactive(FORWARD(cuDevicePrimaryCtxRelease, dev), dev);
}

HOOK CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    return forget_if_inactive(FORWARD(cuDevicePrimaryCtxRelease_v2, dev), dev);
}

/* A context that is still current somewhere stays active after a reset, and loses its memory all the same. */
static CUresult forget_after_reset(CUresult result, CUdevice device)
{
    if (result == CUDA_SUCCESS)
        ledger_forget_context(*primary_context(device));
    return result;
}

HOOK CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    return forget_after_reset(FORWARD(cuDevicePrimaryCtxReset, dev), dev);
}

HOOK CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    return forget_after_reset(FORWARD(cuDevicePrimaryCtxReset_v2, dev), dev);
}

HOOK CUresult cuCtxDestroy(CUcontext ctx)
{
    CUresult result = FORWARD(cuCtxDestroy, ctx);
    if (result == CUDA_SUCCESS)
        ledger_forget_context(ctx);
    return result;
}

HOOK CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = FORWARD(cuCtxDestroy_v2, ctx);
    if (result == CUDA_SUCCESS)
        ledger_forget_context(ctx);
    return result;
}
