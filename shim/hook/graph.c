/* Memory that graphs allocate when they are launched. The driver keeps it for the next launch until it is asked to trim,
   so it counts as used until then; a launch that would need more than the limit leaves is refused. */
#include <pthread.h>
#include <stdlib.h>

#include "limit.h"

struct graph {
    CUgraphExec executable;
    size_t bytes; /* of all its nodes that allocate */
    struct graph *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct graph *graphs;
static bool any; /* a process without such graphs asks the driver nothing more */

static void lock_graphs(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_graphs(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void keep_lock_over_fork(void)
{
    pthread_atfork(lock_graphs, unlock_graphs, unlock_graphs);
}

size_t graph_bytes(CUdevice device)
{
    cuuint64_t bytes = 0;
    if (!__atomic_load_n(&any, __ATOMIC_RELAXED) ||
        cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) != CUDA_SUCCESS)
        return 0;
    return bytes;
}

static size_t bytes_of(CUgraphNode node)
{
    CUgraphNodeType type;
    CUDA_MEM_ALLOC_NODE_PARAMS wanted;
    bool allocates = cuGraphNodeGetType(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    return allocates && cuGraphMemAllocNodeGetParams(node, &wanted) == CUDA_SUCCESS ? wanted.bytesize : 0;
}

static size_t bytes_in(CUgraph graph)
{
    size_t count = 0, bytes = 0;
    if (cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || !count)
        return 0;
    CUgraphNode *nodes = calloc(count, sizeof *nodes);
    if (nodes && cuGraphGetNodes(graph, nodes, &count) == CUDA_SUCCESS)
        for (size_t i = 0; i < count; i++)
            bytes += bytes_of(nodes[i]);
    free(nodes);
    return bytes;
}

static CUresult remember(CUresult result, CUgraphExec *executable, CUgraph graph)
{
    size_t bytes = result == CUDA_SUCCESS && limit_bytes() ? bytes_in(graph) : 0;
    struct graph *made = bytes ? malloc(sizeof *made) : NULL;
    if (!made)
        return result;
    lock_graphs();
    *made = (struct graph){*executable, bytes, graphs};
    graphs = made;
    unlock_graphs();
    __atomic_store_n(&any, true, __ATOMIC_RELAXED);
    return result;
}

HOOK CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    return remember(FORWARD(cuGraphInstantiateWithFlags, phGraphExec, hGraph, flags), phGraphExec, hGraph);
}

#if CUDA_VERSION >= 12000
HOOK CUresult cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    return remember(FORWARD(cuGraphInstantiateWithParams, phGraphExec, hGraph, instantiateParams), phGraphExec, hGraph);
}

HOOK CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
                                                CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    return remember(FORWARD(cuGraphInstantiateWithParams_ptsz, phGraphExec, hGraph, instantiateParams), phGraphExec,
                    hGraph);
}
#endif

HOOK CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    CUresult result = FORWARD(cuGraphExecDestroy, hGraphExec);
    struct graph *ended = NULL;
    lock_graphs();
    for (struct graph **link = &graphs; result == CUDA_SUCCESS && *link; link = &(*link)->next)
        if ((*link)->executable == hGraphExec) {
            ended = *link;
            *link = ended->next;
            break;
        }
    unlock_graphs();
    free(ended);
    return result;
}

/* Beyond what the driver has kept of launches before. */
static size_t needed(CUgraphExec executable, CUdevice device)
{
    size_t bytes = 0, kept = graph_bytes(device);
    lock_graphs();
    for (const struct graph *graph = graphs; graph; graph = graph->next)
        if (graph->executable == executable)
            bytes = graph->bytes;
    unlock_graphs();
    return bytes > kept ? bytes - kept : 0;
}

struct launch {
    bool refused;
    CUdevice device;
    size_t bytes;
};

/* Claimed until the driver says itself that it has it. */
static struct launch begin(CUgraphExec executable)
{
    struct launch launch = {false, -1, 0};
    if (!__atomic_load_n(&any, __ATOMIC_RELAXED))
        return launch;
    launch.device = current_device();
    launch.bytes = needed(executable, launch.device);
    launch.refused = launch.bytes && !limit_claim(launch.device, launch.bytes);
    return launch;
}

static CUresult end(struct launch launch, CUresult result)
{
    if (launch.bytes)
        limit_give_back(launch.device, launch.bytes);
    return result;
}

HOOK CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    struct launch launch = begin(hGraphExec);
    return launch.refused ? CUDA_ERROR_OUT_OF_MEMORY : end(launch, FORWARD(cuGraphLaunch, hGraphExec, hStream));
}

HOOK CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
    struct launch launch = begin(hGraphExec);
    return launch.refused ? CUDA_ERROR_OUT_OF_MEMORY : end(launch, FORWARD(cuGraphLaunch_ptsz, hGraphExec, hStream));
}
