/* Tables that are private between the vendor's libraries, and part of their test of each other: there are none. */
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

/* The one that NVIDIA's runtime, of any version, cannot do without. */
static const unsigned char of_runtime[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                           0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

/* Once: its users see "named symbol not found" alone, at whatever they do first. */
static void say_why(void)
{
    static bool said;
    Dl_info own = {0};

    if (answering || __atomic_exchange_n(&said, true, __ATOMIC_SEQ_CST))
        return;
    const char *end = dladdr(of_runtime, &own) && own.dli_fname ? strrchr(own.dli_fname, '/') : NULL;
    trace("gdbcuda stand-in: NVIDIA's own CUDA runtime wants a private table that only NVIDIA's driver has, and fails with "
          "error 500. Where it is a library, LD_PRELOAD=%.*slibcudart.so.12 (or .13) puts the stand-in's in its place. "
          "Where it is linked in (CuPy, nvcc's default), only calls of the driver (cu...) work without a GPU.",
          end ? (int)(end + 1 - own.dli_fname) : 0, end ? own.dli_fname : "");
}

DRIVER_ANY(cuGetExportTable)(const void **ppExportTable, const CUuuid *pExportTableId)
{
    INVALID_IF(!ppExportTable || !pExportTableId);
    *ppExportTable = NULL;
    if (memcmp(pExportTableId, of_runtime, sizeof of_runtime) == 0)
        say_why();
    return CUDA_ERROR_NOT_FOUND;
}
