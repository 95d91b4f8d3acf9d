/* The inside of the stand-in driver: objects behind handles, allocations, and who owns what. */
#ifndef STANDIN_DRIVER_H
#define STANDIN_DRIVER_H

#include "common/model.h"
#include "common/standin.h"
#include "gdbcuda_api.h"
#include "registry.h"
#include "standin_driver.h" /* generated: prototypes of every do_... */

#include <time.h>

/* ---- handles (handle.c) ---- */

enum handle_kind {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_FUNCTION,
    HANDLE_LIBRARY,
    HANDLE_KERNEL,
    HANDLE_POOL,
    HANDLE_ARRAY,
    HANDLE_GRAPH,
    HANDLE_GRAPH_NODE,
    HANDLE_GRAPH_EXEC,
    HANDLE_EXTERNAL,
};

struct handle {
    struct entry entry; /* the handle's own address; a size of 1 */
    enum handle_kind kind;
    CUcontext context;         /* ends with this context; NULL: lives until it is closed */
    void (*destroy)(void *self); /* frees what the object holds, not the object itself */
};

/* Zeroed, registered object of `size` bytes whose first member is a struct handle; NULL without memory. */
void *handle_new(enum handle_kind kind, size_t size, CUcontext context, void (*destroy)(void *self));
/* The object, or NULL when the pointer is no live handle of that kind. */
void *handle_get(const void *pointer, enum handle_kind kind);
/* False when the pointer is no live handle of that kind. */
bool handle_close(const void *pointer, enum handle_kind kind);
void handle_close_all_of(CUcontext context);

/* ---- devices and contexts (device.c, context.c) ---- */

CUresult need_init(void);
void load_injection(void); /* injection.c */
CUresult need_context(void);

int device_count(void);                   /* after CUDA_VISIBLE_DEVICES */
bool device_valid(CUdevice device);
int device_physical(CUdevice device);     /* the model's number of the driver's device */

struct CUctx_st {
    struct handle handle;
    CUdevice device;
    unsigned flags;
    unsigned api_version;
    unsigned long long id;
    CUfunc_cache cache_config;
    size_t limits[CU_LIMIT_MAX];
    unsigned peers; /* one bit for each device whose memory may be reached */
};

CUcontext context_current(void); /* NULL when none */
CUdevice context_device(void);   /* of the current context */
CUcontext context_new(CUdevice device, unsigned flags);
void context_end(CUcontext context);
int context_count(int physical_device);
unsigned long long next_id(void);

/* ---- addresses and the memory behind them (arena.c) ---- */

enum { PHYSICAL_GRANULARITY = 2 << 20 };

void *arena_allocate(size_t bytes); /* zeros; NULL where there is no memory */
void arena_free(void *at, size_t bytes);
/* Addresses without memory, on a boundary of PHYSICAL_GRANULARITY; NULL where the wish, if any, cannot be met. */
void *arena_reserve(const void *wish, size_t bytes);
bool arena_release(void *at, size_t bytes); /* false where they are not of the arena */
bool arena_fill(void *at, size_t bytes); /* memory for reserved addresses */
bool arena_empty(void *at, size_t bytes); /* the addresses stay, the memory behind them goes */

/* ---- memory (allocation.c) ---- */

enum memory_kind {
    MEMORY_DEVICE = 1,
    MEMORY_INTERNAL, /* on the device too, but only the driver frees it: arrays, variables of modules */
    MEMORY_MANAGED,
    MEMORY_HOST,
    MEMORY_REGISTERED,
    MEMORY_OPENED,   /* another process's, by a handle that it was given */
    MEMORY_IMPORTED, /* another process's or another API's, given back by cuMemFree */
    MEMORY_MAPPED, /* physical memory of cuMemCreate at an address of cuMemAddressReserve */
};

struct allocation {
    struct entry entry;
    enum memory_kind kind;
    CUcontext context;
    CUdevice device;
    unsigned flags;
    CUmemoryPool pool;
    unsigned long long id;
    size_t charged; /* bytes counted against the device */
    int sync_memops;
    struct physical *physical; /* of MEMORY_MAPPED */
    struct graph_memory *graph_memory; /* NULL for what no graph has allocated */
};

CUresult allocate(enum memory_kind kind, size_t bytes, struct allocation **allocation);
CUresult allocate_at(enum memory_kind kind, void *address, size_t bytes, struct allocation **allocation);
CUresult allocation_free(uintptr_t start, enum memory_kind kind); /* INVALID_VALUE when there is none */
void allocation_free_all_of(CUcontext context);
struct allocation *allocation_at(uintptr_t address); /* interior addresses too */
bool allocation_covers(CUdeviceptr address, size_t bytes);
bool allocation_on_device(const struct allocation *allocation);
bool allocation_on_host(const struct allocation *allocation);

CUresult device_charge(CUdevice device, size_t bytes); /* OUT_OF_MEMORY beyond the device's size */
void device_uncharge(CUdevice device, size_t bytes);
size_t device_used(CUdevice device);

/* Memory of several processes (shared.c). A ticket has the size of a CUipcMemHandle. */
CUresult shared_export(const struct allocation *allocation, void *ticket);
CUresult shared_open(const void *ticket, enum memory_kind kind, CUdeviceptr *address);
CUresult shared_close(CUdeviceptr address, enum memory_kind kind);
CUresult shared_map(int file, size_t offset, size_t bytes, enum memory_kind kind, CUdeviceptr *address);
void shared_forget(const struct allocation *allocation); /* it ends here, and may have been exported */
void shared_end(CUdeviceptr address);                    /* one that was opened or mapped ends */

/* What cuMemCreate makes (physical.c) and cuMemMap gives an address (mapping.c). */
struct physical {
    struct entry entry;
    CUmemAllocationProp properties;
    size_t size, charged;
    int file;
    int users;   /* every handle, every mapping, every importer */
    int handles; /* of users: those that were not released yet */
    struct physical *exporter; /* NULL: it was created here, or another process has it */
};

bool physical_granular(size_t size);
struct physical *physical_get(CUmemGenericAllocationHandle handle); /* NULL when it is none, or was released */
void physical_hold(struct physical *physical);
void physical_retain(struct physical *physical); /* as one more handle */
void physical_drop(struct physical *physical); /* ends it with its last user */

struct CUmemPoolHandle_st {
    struct handle handle;
    CUdevice device;
    unsigned long long release_threshold;
    unsigned long long used, used_high;
    int reuse[3];
    bool is_default, is_imported;
    CUmemAllocationHandleType handle_types;
};

CUmemoryPool pool_new(CUdevice device); /* NULL without memory */
CUresult pool_default(CUdevice device, CUmemoryPool *pool);
void pool_count(CUmemoryPool pool, long long bytes); /* taken, or given back when negative */

struct CUarray_st {
    struct handle handle;
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUdeviceptr memory;
    size_t row, rows; /* bytes of a row, rows of a slice */
    size_t bytes;
};

/* ---- streams and events ---- */

struct CUstream_st {
    struct handle handle;
    unsigned flags;
    int priority;
    unsigned long long id;
    struct capture *capture; /* NULL while its work is done */
    unsigned long host_calls; /* that were put in, of all streams, with its last one */
};

struct CUevent_st {
    struct handle handle;
    unsigned flags;
    bool recorded;
    struct timespec at;
    unsigned long host_calls; /* before it */
    CUstream captured; /* it was recorded in this one, while that was captured */
};

CUresult stream_check(CUstream stream);

/* Functions of the program's in a stream (host_call.c): who has to come after those so far waits for them. */
CUresult host_call(CUhostFn function, void *data);
CUresult host_callback(CUstream stream, CUstreamCallback callback, void *data);
unsigned long host_calls_so_far(void);
bool host_calls_are_done(unsigned long until);
void host_calls_wait(unsigned long until);
void host_calls_wait_for_all(void);
CUresult stream_note_host_calls(CUstream stream, CUresult result);
bool host_calls_forbid(void); /* in such a function, what needs a context */

CUresult event_check(CUevent event);

/* ---- graphs (graph.c, graph_memory.c) and streams that become some (capture.c) ---- */

typedef CUresult replay_work(const void *kept);

/* `wanted.dptr` is where it is when there is any; `users` are nodes, and a block. */
struct graph_memory {
    CUDA_MEM_ALLOC_NODE_PARAMS wanted;
    int users;
};

struct graph_memory *graph_memory_new(const CUDA_MEM_ALLOC_NODE_PARAMS *wanted);
void graph_memory_hold(struct graph_memory *memory);
void graph_memory_drop(struct graph_memory *memory);
CUresult graph_memory_fill(struct graph_memory *memory);   /* makes a block of it */
void graph_memory_empty(struct graph_memory *memory);      /* the block has ended */
bool graph_memory_is_live(const struct graph_memory *memory);

CUresult graph_add_call(CUgraph graph, CUgraphNodeType type, replay_work *replay, const void *kept, size_t size,
                        CUgraphNode *made);
CUresult graph_add_alloc(CUgraph graph, CUDA_MEM_ALLOC_NODE_PARAMS *wanted, CUgraphNode *made);
CUresult graph_add_free(CUgraph graph, CUdeviceptr start, CUgraphNode *made);

bool is_captured(CUstream stream);
CUresult capture_refused(CUstream stream);
CUresult not_while_capturing(void); /* what waits for the device */
CUresult capture_call(CUstream stream, CUgraphNodeType type, replay_work *replay, const void *kept, size_t size);
CUresult capture_alloc(CUstream stream, CUdevice device, size_t bytes, CUdeviceptr *start);
CUresult capture_free(CUstream stream, CUdeviceptr start);
CUresult capture_join(CUstream stream, CUstream other); /* that waits for a captured one */

/* ---- code (code.c, code_ptx.c, code_elf.c, code_fatbin.c) ---- */

struct parameter {
    size_t offset, size;
};

struct kernel {
    char *name;
    struct parameter *parameters;
    size_t parameter_count;
    bool parameters_known;
};

struct variable {
    char *name;
    size_t size;
    void *initial;       /* NULL: zeros */
    CUdeviceptr address; /* once somebody asked for it */
    enum memory_kind memory;
};

/* What an image contains. `opaque`: it could not be looked into, so any kernel name is taken to be there. */
struct code {
    struct kernel *kernels;
    size_t kernel_count;
    struct variable *variables;
    size_t variable_count;
    bool opaque;
};

/* False when the image is none of PTX text, cubin, fatbin (bare or in its wrapper). */
bool code_read(struct code *code, const void *image);
bool code_read_ptx(struct code *code, const char *text);
bool code_read_elf(struct code *code, const void *image);
bool code_read_fatbin(struct code *code, const void *image);
void code_free(struct code *code);
struct kernel *code_add_kernel(struct code *code, const char *name, size_t length);
void code_set_parameter(struct kernel *kernel, size_t index, size_t offset, size_t size);
/* `initial` is copied; NULL for zeros, and where the values cannot be read: in PTX. */
void code_add_variable(struct code *code, const char *name, size_t length, size_t size, const void *initial);

struct CUmod_st {
    struct handle handle;
    struct code code;
    struct function **functions;
    size_t function_count;
    CUlibrary library; /* NULL when it was loaded as a module */
    bool invalid;      /* the image was no code: a library says so when something of it is used */
};

/* Behind both CUfunction and CUkernel: the API allows a CUkernel wherever a launch takes a CUfunction. */
struct function {
    struct handle handle;
    CUmodule module;
    char *name;
    const struct kernel *kernel; /* NULL when the module is opaque */
    int max_dynamic_shared;      /* 0: the device's usual limit */
    int preferred_carveout;
    unsigned long long launches;
};

struct CUlib_st {
    struct handle handle;
    CUmodule module;
};

CUresult module_new(const void *image, CUmodule *module);
CUresult module_load(const void *image, CUmodule *module);
CUresult module_load_file(const char *path, CUmodule *module);
CUresult module_function(CUmodule module, const char *name, enum handle_kind kind, struct function **function);
CUresult module_variable(CUmodule module, const char *name, enum memory_kind memory, CUdeviceptr *address,
                         size_t *bytes);
void function_destroy(void *self);
int function_shared_limit(const struct function *function);
struct function *function_get(const void *pointer); /* a CUfunction or a CUkernel; NULL for neither */

const char *error_name(int code);

#define INVALID_IF(condition) RETURN_IF(condition, CUDA_ERROR_INVALID_VALUE)

#endif
