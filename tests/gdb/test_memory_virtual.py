"""cuda-memory on virtual memory management and on copies of boxes, in a real gdb."""

from __future__ import annotations

import re
from pathlib import Path

from scenario import Scenario

WRONG = """
#include <stddef.h>
#define GDBCUDA_API_SOURCE_NAMES
#include "gdbcuda_api.h"
enum { CHUNK = 2 << 20 };
static char bytes[1 << 20];
int main(void)
{
    CUdevice device; CUcontext context; CUdeviceptr space, plain, pitched; CUmemGenericAllocationHandle chunk[2];
    CUmemAllocationProp where = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
    size_t pitch;
    where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cuInit(0); cuDeviceGet(&device, 0); cuDevicePrimaryCtxRetain(&context, device); cuCtxSetCurrent(context);
    cuMemAddressReserve(&space, 4 * CHUNK, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        cuMemCreate(&chunk[i], CHUNK, &where, 0);
        cuMemMap(space + i * CHUNK, CHUNK, 0, chunk[i], 0);
        cuMemRelease(chunk[i]);
    }
    CUmemAccessDesc access = {.location = where.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cuMemSetAccess(space, 2 * CHUNK, &access, 1);
    cuMemcpyHtoD(space + CHUNK - 512, bytes, 1024);           /* over both, which is right */
    cuMemsetD8(space + 2 * CHUNK - 512, 0, 1024);             /* OUT OF RANGE */
    cuMemsetD8(space + 3 * CHUNK, 0, 16);                     /* UNMAPPED ADDRESS */
    cuMemUnmap(space, CHUNK / 2);                             /* PART OF A MAPPING */
    cuMemFree(space);                                         /* WRONG FAMILY */
    cuMemUnmap(space, CHUNK);
    cuMemsetD8(space, 0, 16);                                 /* UNMAPPED ADDRESS */
    cuMemUnmap(space, CHUNK);                                 /* NOT MAPPED */
    cuMemAddressFree(space, 4 * CHUNK);                       /* STILL MAPPED */
    cuMemAlloc(&plain, 4096);
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = bytes, .srcPitch = 64, .srcHeight = 8,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = plain, .dstPitch = 64, .dstHeight = 8,
        .WidthInBytes = 64, .Height = 8, .Depth = 8};
    cuMemcpy3D(&box);                                          /* all 4096 */
    box.dstXInBytes = 1;
    cuMemcpy3D(&box);                                          /* OUT OF RANGE */
    cuMemAllocPitch(&pitched, &pitch, 100, 4, 4);
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = bytes, .srcPitch = 100,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = pitched, .dstPitch = pitch,
        .WidthInBytes = 100, .Height = 5};
    cuMemcpy2D(&rows);                                         /* OUT OF RANGE */
    cuMemFree(pitched); cuMemFree(plain);
    return 0;
}
"""


def test_mappings_and_boxes(scenario: Scenario, shim: Path, compile_c) -> None:
    program = compile_c("mapped", WRONG, f"-I{shim}", f"-L{shim}/standin", "-lcuda")
    text = scenario.run(program, "cuda-log start --memory --in hook", "RUN", "cuda-memory problems", "cuda-memory live")
    found = re.findall(r"^([a-z ]+): .*\n +#\d+ .*by main at mapped\.c:(\d+)", text, re.MULTILINE)
    marked = [(comment.lower(), str(number)) for number, line in enumerate(WRONG.splitlines(), 1)
              for comment in re.findall(r"/\* ([A-Z ]+) \*/", line)]  # fmt: skip
    assert len(marked) == 9 and found == marked
    assert "2 blocks: mapping 2097152 [2.00 MiB] in 1, physical 2097152 [2.00 MiB] in 1" in text
