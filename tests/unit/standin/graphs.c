/* Memory of graphs, and streams that are captured: what each call answers, and how much of the device is taken then.
   An H100 with driver 580 said what is in graphs.txt. */
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

#define SAY(call) printf("%ld %s\n", (long)(call), #call)
enum { BYTES = 64 << 20 };

static size_t start;
static CUstream s;
static CUgraph g;
static CUgraphNode n, m;
static CUgraphExec e;
static CUdeviceptr p;
static CUDA_MEM_ALLOC_NODE_PARAMS a = {
    .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}},
    .bytesize = BYTES,
};

static void taken(void)
{
    size_t free = 0, total = 0;
    cuuint64_t reserved = 0;
    cuMemGetInfo_v2(&free, &total);
    start = start ? start : free;
    cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved);
    size_t taken = (start - free) >> 24 << 24; /* a few MiB are the driver's, for its own kernels */
    printf("  %zu MiB taken, %llu MiB of graphs\n", taken >> 20, (unsigned long long)reserved >> 20);
}

static void launched(void)
{
    SAY(cuGraphLaunch(e, s));
    SAY(cuStreamSynchronize(s));
    taken();
}

static void ended(void)
{
    SAY(cuGraphExecDestroy(e));
    SAY(cuGraphDestroy(g));
    SAY(cuDeviceGraphMemTrim(0));
    taken();
}

static void status(void)
{
    CUstreamCaptureStatus found = 0;
    SAY(cuStreamIsCapturing(s, &found));
    printf("  status %d\n", (int)found);
}

static void alloc_and_free_nodes(void)
{
    SAY(cuGraphCreate(&g, 0));
    SAY(cuGraphAddMemAllocNode(&n, g, NULL, 0, &a));
    taken();
    SAY(cuGraphAddMemFreeNode(&m, g, &n, 1, a.dptr));
    SAY(cuGraphAddMemFreeNode(&m, g, &n, 1, a.dptr));
    SAY(cuMemFree_v2(a.dptr));
    SAY(cuGraphInstantiateWithFlags(&e, g, 0));
    taken();
    launched();
    launched();
    CUgraphExec second;
    SAY(cuGraphInstantiateWithFlags(&second, g, 0));
    ended();
}

static void freed_by_the_program(void)
{
    SAY(cuGraphCreate(&g, 0));
    SAY(cuGraphAddMemAllocNode(&n, g, NULL, 0, &a));
    SAY(cuGraphInstantiateWithFlags(&e, g, 0));
    SAY(cuMemFreeAsync(a.dptr, s));
    launched();
    SAY(cuGraphLaunch(e, s));
    SAY(cuMemFreeAsync(a.dptr, s));
    SAY(cuMemFreeAsync(a.dptr, s));
    launched();
    SAY(cuMemFree_v2(a.dptr));
    taken();
    SAY(cuDeviceGraphMemTrim(0));
    taken();
    launched();
    ended();
    SAY(cuMemFree_v2(a.dptr));
    SAY(cuDeviceGraphMemTrim(0));
    taken();
}

static void freed_by_the_next_launch(void)
{
    SAY(cuGraphCreate(&g, 0));
    SAY(cuGraphAddMemAllocNode(&n, g, NULL, 0, &a));
    SAY(cuGraphInstantiateWithFlags(&e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    launched();
    launched();
    ended();
    SAY(cuMemFree_v2(a.dptr));
    SAY(cuDeviceGraphMemTrim(0));
    taken();
}

static void capture_lost(void)
{
    SAY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    status();
    SAY(cuStreamQuery(s));
    status();
    SAY(cuStreamEndCapture(s, &g));
    SAY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    SAY(cuMemAlloc_v2(&p, BYTES));
    status();
    SAY(cuStreamEndCapture(s, &g));
    SAY(cuStreamEndCapture(s, &g));
    SAY(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void captured(void)
{
    CUgraphNode nodes[4];
    size_t count = 4;
    SAY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(cuMemAlloc_v2(&p, 1 << 20));
    SAY(cuMemFree_v2(p));
    SAY(cuMemAllocAsync(&p, BYTES, s));
    taken();
    SAY(cuMemsetD8Async(p, 1, BYTES, s));
    SAY(cuMemFreeAsync(p, s));
    SAY(cuStreamEndCapture(s, &g));
    SAY(cuGraphGetNodes(g, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        CUgraphNodeType type;
        SAY(cuGraphNodeGetType(nodes[i], &type));
        printf("  type %d\n", (int)type);
    }
    CUDA_MEM_ALLOC_NODE_PARAMS found = {0};
    SAY(cuGraphMemAllocNodeGetParams(nodes[0], &found));
    printf("  %zu MiB, the same: %d\n", found.bytesize >> 20, found.dptr == p);
    SAY(cuMemFree_v2(p));
    SAY(cuGraphInstantiateWithFlags(&e, g, 0));
    launched();
    ended();
}

int main(void)
{
    CUcontext context;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    taken();
    alloc_and_free_nodes();
    freed_by_the_program();
    freed_by_the_next_launch();
    capture_lost();
    captured();
    return 0;
}
