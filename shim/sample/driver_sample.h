/* What the driver samples share: sizes, a context, and the name of an error. */
#ifndef DRIVER_SAMPLE_H
#define DRIVER_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#define GDBCUDA_API_SOURCE_NAMES /* cuMemAlloc means cuMemAlloc_v2, as with the vendor's header */
#include "gdbcuda_api.h"

#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

static inline const char *error_text(CUresult result)
{
    static _Thread_local char text[64];
    const char *name = NULL;
    cuGetErrorName(result, &name);
    snprintf(text, sizeof text, "%s (%d)", name ? name : "not a CUresult", (int)result);
    return text;
}

/* For calls that no sample expects to fail. */
static inline void must(const char *what, CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("%s: %s\n", what, error_text(result));
    exit(2);
}

static inline void use_first_device(void)
{
    CUdevice device;
    CUcontext context;
    must("cuInit", cuInit(0));
    must("cuDeviceGet", cuDeviceGet(&device, 0));
    must("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&context, device));
    must("cuCtxSetCurrent", cuCtxSetCurrent(context));
}

#endif
