"""C functions for steps that take more than one call."""

from __future__ import annotations

from gdbcuda.contract.books import steps

MAPPING = """\
static long map(CUdeviceptr *place, CUmemGenericAllocationHandle block, size_t size)
{
    long result = cuMemAddressReserve(place, size, 0, 0, 0);
    if (result == 0 && (result = cuMemMap(*place, size, 0, block, 0)) != 0) {
        cuMemAddressFree(*place, size);
        *place = 0;
    }
    return result;
}
"""
UNMAPPING = """\
static long unmap(CUdeviceptr place, size_t size)
{
    long result = cuMemUnmap(place, size);
    return result ? result : cuMemAddressFree(place, size);
}
"""
IMPORTING = """\
static long import(CUmemGenericAllocationHandle *other, CUmemGenericAllocationHandle block)
{
    int file = -1;
    long result = cuMemExportToShareableHandle(&file, block, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result == 0)
        result = cuMemImportFromShareableHandle(other, (void *)(long)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (file >= 0)
        close(file);
    return result;
}
"""
GROWING = """\
static long grow(CUdeviceptr *place, CUmemGenericAllocationHandle first, CUmemGenericAllocationHandle second,
                 size_t size)
{
    long result = cuMemAddressReserve(place, 2 * size, 0, 0, 0);
    if (result == 0 && (result = cuMemMap(*place, size, 0, first, 0)) == 0)
        result = cuMemMap(*place + size, size, 0, second, 0);
    return result;
}
"""
UNMAPPING_ALL = """\
static long unmap_all(CUdeviceptr place, size_t size)
{
    long result = cuMemUnmap(place, 2 * size);
    return result ? result : cuMemAddressFree(place, 2 * size);
}
"""
RESETTING = """\
static long reset(void)
{
    CUcontext context;
    long result = cuDevicePrimaryCtxReset_v2(0);
    return result || cuDevicePrimaryCtxRetain(&context, 0) ? result : (long)cuCtxSetCurrent(context);
}
"""
KEEPING = """\
static long keep(size_t size)
{
    unsigned long long most = size;
    CUmemoryPool pool = NULL;
    cuDeviceGetDefaultMemPool(&pool, 0);
    return cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most);
}
"""
TRIMMING = """\
static long trim(void)
{
    CUmemoryPool pool = NULL;
    cuDeviceGetDefaultMemPool(&pool, 0);
    return cuMemPoolTrimTo(pool, 0);
}
"""
RESERVING = """\
static long reserve(CUdeviceptr *place, size_t size)
{
    return cuMemAddressReserve(place, size, 0, 0, 0);
}
"""
GRAPH_NODES = 3
GRAPHING = """\
static long make_graph(CUgraphExec *made, size_t size)
{
    enum { NODES = 3 };
    CUgraph graph = NULL;
    CUgraphNode node, before = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS wanted[NODES];
    long result = cuGraphCreate(&graph, 0);
    for (int i = 0; i < NODES && result == 0; i++, before = node) {
        wanted[i] = (CUDA_MEM_ALLOC_NODE_PARAMS){
            .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
            .bytesize = size,
        };
        result = cuGraphAddMemAllocNode(&node, graph, &before, i > 0, &wanted[i]);
    }
    for (int i = 0; i < NODES && result == 0; i++, before = node)
        result = cuGraphAddMemFreeNode(&node, graph, &before, 1, wanted[i].dptr);
    if (result == 0)
        result = cuGraphInstantiateWithFlags(made, graph, 0);
    if (graph)
        cuGraphDestroy(graph);
    return result;
}
"""
LAUNCHING = """\
static long launch(CUgraphExec made)
{
    long result = cuGraphLaunch(made, NULL);
    return result ? result : (long)cuCtxSynchronize();
}
"""
ENDING_GRAPH = """\
static long end_graph(CUgraphExec made)
{
    long result = cuGraphExecDestroy(made);
    return result ? result : (long)cuDeviceGraphMemTrim(0);
}
"""
GLUE = {
    steps.GRAPH: GRAPHING,
    steps.LAUNCH: LAUNCHING,
    steps.GRAPH_END: ENDING_GRAPH,
    steps.MAP: MAPPING,
    steps.UNMAP: UNMAPPING,
    steps.IMPORT: IMPORTING,
    steps.GROW: GROWING,
    steps.UNMAP_ALL: UNMAPPING_ALL,
    steps.RESET: RESETTING,
    steps.KEEP: KEEPING,
    steps.TRIM: TRIMMING,
    steps.RESERVE: RESERVING,
}
