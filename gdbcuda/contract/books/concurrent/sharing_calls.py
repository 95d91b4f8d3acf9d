"""How memory of one process comes to another one: C that gets, exports, opens, lets go of and gives back."""

from __future__ import annotations

from typing import NamedTuple


class SharingWay(NamedTuple):
    """``opener`` is the function that opens memory of others; ``calls`` are C functions of `shared.c`."""

    opener: str
    calls: str


BY_HANDLE = SharingWay("cuIpcOpenMemHandle_v2", """\
static CUdeviceptr block, opened;

static long get(void)
{
    return cuMemAlloc_v2(&block, size);
}

static long export_it(int *file)
{
    (void)file;
    return cuIpcGetMemHandle((CUipcMemHandle *)shared->ticket, block);
}

static long open_it(int file)
{
    (void)file;
    return cuIpcOpenMemHandle_v2(&opened, *(CUipcMemHandle *)shared->ticket, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static long close_it(void)
{
    return cuIpcCloseMemHandle(opened);
}

static long give(void)
{
    return cuMemFree_v2(block);
}
""")  # fmt: skip

OF_POOL = SharingWay("cuMemPoolImportPointer", """\
static CUmemoryPool pool;
static CUdeviceptr block, opened;

static long get(void)
{
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
    };
    long result = cuMemPoolCreate(&pool, &props);
    return result ? result : (long)cuMemAllocFromPoolAsync(&block, size, pool, NULL);
}

static long export_it(int *file)
{
    long result = cuMemPoolExportToShareableHandle(file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    return result ? result : (long)cuMemPoolExportPointer((CUmemPoolPtrExportData *)shared->ticket, block);
}

static long open_it(int file)
{
    CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    long result = cuMemPoolImportFromShareableHandle(&pool, (void *)(long)file, type, 0);
    return result ? result : (long)cuMemPoolImportPointer(&opened, pool, (CUmemPoolPtrExportData *)shared->ticket);
}

static long close_it(void)
{
    return cuMemFree_v2(opened);
}

static long give(void)
{
    long result = cuMemFreeAsync(block, NULL);
    return result ? result : (long)cuMemPoolDestroy(pool);
}
""")  # fmt: skip

PHYSICAL = """\
static CUmemGenericAllocationHandle block;

static long get(void)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
    };
    return cuMemCreate(&block, size, &prop, 0);
}

static long export_it(int *file)
{
    return cuMemExportToShareableHandle(file, block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

static long give(void)
{
    return cuMemRelease(block);
}

"""
AS_FILE = SharingWay("cuMemImportFromShareableHandle", f"""\
{PHYSICAL}static CUmemGenericAllocationHandle opened;

static long open_it(int file)
{{
    return cuMemImportFromShareableHandle(&opened, (void *)(long)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}}

static long close_it(void)
{{
    return cuMemRelease(opened);
}}
""")  # fmt: skip

EXTERNAL = SharingWay("cuExternalMemoryGetMappedBuffer", f"""\
{PHYSICAL}static CUexternalMemory external;
static CUdeviceptr opened;

static long open_it(int file)
{{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory = {{
        .type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle.fd = file, .size = size,
    }};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {{.size = size}};
    long result = cuImportExternalMemory(&external, &memory);
    return result ? result : (long)cuExternalMemoryGetMappedBuffer(&opened, external, &all);
}}

static long close_it(void)
{{
    long result = cuMemFree_v2(opened);
    return result ? result : (long)cuDestroyExternalMemory(external);
}}
""")  # fmt: skip

WAYS = (BY_HANDLE, OF_POOL, AS_FILE, EXTERNAL)
