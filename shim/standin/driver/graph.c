/* Graphs: nodes in the order in which they were added, which no dependency contradicts, and what is launched of them. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a node does; the node has it, and each graph that can be launched. */
struct work {
    CUgraphNodeType type;
    replay_work *replay; /* of a captured call, with its arguments behind the struct */
    struct graph_memory *memory;
    int users;
    max_align_t kept[];
};

struct CUgraphNode_st {
    struct handle handle;
    CUgraph graph;
    struct work *work;
};

struct CUgraph_st {
    struct handle handle;
    struct list {
        void **items;
        size_t count;
    } nodes;
    int launchable; /* graphs to launch that are made of it */
};

struct CUgraphExec_st {
    struct handle handle;
    struct list works;
    CUgraph graph;
    unsigned long long flags;
};

static bool list_add(struct list *list, void *item)
{
    void **items = realloc(list->items, (list->count + 1) * sizeof *items);

    if (!items)
        return false;
    list->items = items;
    items[list->count++] = item;
    return true;
}

static void work_drop(struct work *work)
{
    if (__atomic_sub_fetch(&work->users, 1, __ATOMIC_SEQ_CST))
        return;
    if (work->memory)
        graph_memory_drop(work->memory);
    free(work);
}

static void end_node(void *self)
{
    work_drop(((CUgraphNode)self)->work);
}

static void end_graph(void *self)
{
    CUgraph graph = self;

    for (size_t i = 0; i < graph->nodes.count; i++)
        handle_close(graph->nodes.items[i], HANDLE_GRAPH_NODE);
    free(graph->nodes.items);
}

static void end_exec(void *self)
{
    CUgraphExec exec = self;

    for (size_t i = 0; i < exec->works.count; i++)
        work_drop(exec->works.items[i]);
    free(exec->works.items);
    if (handle_get(exec->graph, HANDLE_GRAPH))
        __atomic_sub_fetch(&exec->graph->launchable, 1, __ATOMIC_SEQ_CST);
}

static CUresult add(CUgraph graph, struct work *work, CUgraphNode *made)
{
    CUgraphNode node = work ? handle_new(HANDLE_GRAPH_NODE, sizeof *node, NULL, end_node) : NULL;

    if (!node) {
        free(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graph = graph;
    node->work = work;
    pthread_mutex_lock(&lock);
    bool added = list_add(&graph->nodes, node);
    pthread_mutex_unlock(&lock);
    if (!added)
        handle_close(node, HANDLE_GRAPH_NODE);
    *made = node;
    return added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct work *work_new(CUgraphNodeType type, size_t size)
{
    struct work *work = calloc(1, sizeof *work + size);

    if (work) {
        work->type = type;
        work->users = 1;
    }
    return work;
}

CUresult graph_add_call(CUgraph graph, CUgraphNodeType type, replay_work *replay, const void *kept, size_t size,
                        CUgraphNode *made)
{
    struct work *work = work_new(type, size);

    if (work) {
        work->replay = replay;
        if (size)
            memcpy(work->kept, kept, size);
    }
    return add(graph, work, made);
}

static CUresult add_memory(CUgraph graph, CUgraphNodeType type, struct graph_memory *memory, CUgraphNode *made)
{
    struct work *work = work_new(type, 0);

    if (work)
        work->memory = memory;
    else
        graph_memory_drop(memory);
    return add(graph, work, made);
}

CUresult graph_add_alloc(CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS *wanted, CUgraphNode *made)
{
    INVALID_IF(!wanted->bytesize || wanted->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED);
    INVALID_IF(wanted->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE);
    RETURN_IF(!device_valid(wanted->poolProps.location.id), CUDA_ERROR_INVALID_DEVICE);
    RETURN_IF(wanted->bytesize > SIZE_MAX / 2, CUDA_ERROR_OUT_OF_MEMORY);
    struct graph_memory *memory = graph_memory_new(wanted);
    RETURN_IF(!memory, CUDA_ERROR_OUT_OF_MEMORY);
    TRY(add_memory(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, memory, made));
    wanted->dptr = memory->wanted.dptr;
    return CUDA_SUCCESS;
}

static bool of_memory(const struct work *work, CUgraphNodeType type, CUdeviceptr start)
{
    return work->type == type && work->memory->wanted.dptr == start;
}

static struct graph_memory *memory_in(const struct list *nodes, CUgraphNodeType type, CUdeviceptr start)
{
    struct graph_memory *found = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nodes->count && !found; i++) {
        const struct work *work = ((CUgraphNode)nodes->items[i])->work;
        found = of_memory(work, type, start) ? work->memory : NULL;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Of a node of this graph, or of one that was launched. */
CUresult graph_add_free(CUgraph graph, CUdeviceptr start, CUgraphNode *made)
{
    const struct allocation *live = allocation_at(start);
    struct graph_memory *memory = memory_in(&graph->nodes, CU_GRAPH_NODE_TYPE_MEM_ALLOC, start);

    if (!memory && live && live->entry.start == start)
        memory = live->graph_memory;
    INVALID_IF(!memory || memory_in(&graph->nodes, CU_GRAPH_NODE_TYPE_MEM_FREE, start));
    graph_memory_hold(memory);
    return add_memory(graph, CU_GRAPH_NODE_TYPE_MEM_FREE, memory, made);
}

DRIVER_INIT(cuGraphCreate)(CUgraph *phGraph, unsigned int flags)
{
    INVALID_IF(!phGraph || flags);
    *phGraph = handle_new(HANDLE_GRAPH, sizeof **phGraph, NULL, end_graph);
    return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_INIT(cuGraphDestroy)(CUgraph hGraph)
{
    return handle_close(hGraph, HANDLE_GRAPH) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_place(CUgraphNode *made, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
    INVALID_IF(!made || !handle_get(graph, HANDLE_GRAPH) || (count && !dependencies));
    for (size_t i = 0; i < count; i++)
        INVALID_IF(!handle_get(dependencies[i], HANDLE_GRAPH_NODE) || dependencies[i]->graph != graph);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuGraphAddEmptyNode)(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                 size_t numDependencies)
{
    TRY(check_place(phGraphNode, hGraph, dependencies, numDependencies));
    return graph_add_call(hGraph, CU_GRAPH_NODE_TYPE_EMPTY, NULL, NULL, 0, phGraphNode);
}

DRIVER_INIT(cuGraphAddMemAllocNode)(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                    size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    TRY(check_place(phGraphNode, hGraph, dependencies, numDependencies));
    INVALID_IF(!nodeParams);
    return graph_add_alloc(hGraph, nodeParams, phGraphNode);
}

DRIVER_INIT(cuGraphAddMemFreeNode)(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                   size_t numDependencies, CUdeviceptr dptr)
{
    TRY(check_place(phGraphNode, hGraph, dependencies, numDependencies));
    return graph_add_free(hGraph, dptr, phGraphNode);
}

DRIVER_INIT(cuGraphGetNodes)(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    INVALID_IF(!numNodes || !handle_get(hGraph, HANDLE_GRAPH));
    pthread_mutex_lock(&lock);
    for (size_t i = 0; nodes && i < *numNodes; i++)
        nodes[i] = i < hGraph->nodes.count ? hGraph->nodes.items[i] : NULL;
    if (!nodes || *numNodes > hGraph->nodes.count)
        *numNodes = hGraph->nodes.count;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuGraphNodeGetType)(CUgraphNode hNode, CUgraphNodeType *type)
{
    INVALID_IF(!type || !handle_get(hNode, HANDLE_GRAPH_NODE));
    *type = hNode->work->type;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuGraphMemAllocNodeGetParams)(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    INVALID_IF(!params_out || !handle_get(hNode, HANDLE_GRAPH_NODE));
    INVALID_IF(hNode->work->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    *params_out = hNode->work->memory->wanted;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuGraphMemFreeNodeGetParams)(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    INVALID_IF(!dptr_out || !handle_get(hNode, HANDLE_GRAPH_NODE));
    INVALID_IF(hNode->work->type != CU_GRAPH_NODE_TYPE_MEM_FREE);
    *dptr_out = hNode->work->memory->wanted.dptr;
    return CUDA_SUCCESS;
}

/* ---- launching ---- */

/* False without memory. Call with the lock held. */
static bool copy_works(CUgraphExec exec, bool *has_memory)
{
    const struct list *nodes = &exec->graph->nodes;

    for (size_t i = 0; i < nodes->count; i++) {
        struct work *work = ((CUgraphNode)nodes->items[i])->work;
        if (!list_add(&exec->works, work))
            return false;
        __atomic_add_fetch(&work->users, 1, __ATOMIC_SEQ_CST);
        *has_memory |= work->memory != NULL;
    }
    return true;
}

DRIVER(cuGraphInstantiateWithFlags)(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
    bool has_memory = false;

    INVALID_IF(!phGraphExec || !handle_get(hGraph, HANDLE_GRAPH));
    INVALID_IF(flags & ~(unsigned long long)(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                             CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
    CUgraphExec exec = handle_new(HANDLE_GRAPH_EXEC, sizeof *exec, context_current(), end_exec);
    RETURN_IF(!exec, CUDA_ERROR_OUT_OF_MEMORY);
    exec->graph = hGraph;
    exec->flags = flags;
    pthread_mutex_lock(&lock);
    bool copied = copy_works(exec, &has_memory);
    int others = __atomic_fetch_add(&hGraph->launchable, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&lock);
    if (!copied || (has_memory && others)) {
        handle_close(exec, HANDLE_GRAPH_EXEC);
        return copied ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *phGraphExec = exec;
    return CUDA_SUCCESS;
}

DRIVER(cuGraphInstantiateWithParams)(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
    INVALID_IF(!instantiateParams);
    CUresult result = do_cuGraphInstantiateWithFlags(phGraphExec, hGraph, instantiateParams->flags);
    instantiateParams->hErrNode_out = NULL;
    instantiateParams->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return result;
}

DRIVER_INIT(cuGraphExecGetFlags)(CUgraphExec hGraphExec, cuuint64_t *flags)
{
    INVALID_IF(!flags || !handle_get(hGraphExec, HANDLE_GRAPH_EXEC));
    *flags = hGraphExec->flags;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuGraphExecDestroy)(CUgraphExec hGraphExec)
{
    return handle_close(hGraphExec, HANDLE_GRAPH_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult run(const struct work *work)
{
    if (work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return graph_memory_fill(work->memory);
    if (work->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        return allocation_free(work->memory->wanted.dptr, MEMORY_DEVICE);
    return work->replay ? work->replay(work->kept) : CUDA_SUCCESS;
}

/* What the launch before has allocated and nobody has freed. */
static CUresult free_before(const struct CUgraphExec_st *exec)
{
    for (size_t i = 0; i < exec->works.count; i++) {
        const struct work *work = exec->works.items[i];
        if (work->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !graph_memory_is_live(work->memory))
            continue;
        INVALID_IF(!(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
        TRY(allocation_free(work->memory->wanted.dptr, MEMORY_DEVICE));
    }
    return CUDA_SUCCESS;
}

DRIVER(cuGraphLaunch)(CUgraphExec hGraphExec, CUstream hStream)
{
    INVALID_IF(!handle_get(hGraphExec, HANDLE_GRAPH_EXEC));
    TRY(stream_check(hStream));
    RETURN_IF(is_captured(hStream), capture_refused(hStream)); /* a child graph */
    TRY(free_before(hGraphExec));
    for (size_t i = 0; i < hGraphExec->works.count; i++)
        TRY(run(hGraphExec->works.items[i]));
    return stream_note_host_calls(hStream, CUDA_SUCCESS);
}
