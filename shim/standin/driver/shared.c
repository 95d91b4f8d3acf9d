/* Memory that processes share. The pages of a block become a file without a name, which another process opens through
 * /proc; several blocks may be in one file, as they may be in one allocation of a real driver. What is written while a
 * block is exported for the first time may be lost. */
#include "driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, SMALL = 1 << 20 /* smaller blocks share their pages: see arena.c */ };

/* What an exported block is known by in the other process. */
struct ticket {
    pid_t process;
    int file;
    size_t offset, size;
    ino_t number;
};
_Static_assert(sizeof(struct ticket) <= sizeof(CUipcMemHandle), "it has to fit");
_Static_assert(sizeof(struct ticket) <= sizeof(CUmemPoolPtrExportData), "it has to fit");

struct exported {
    struct entry entry;
    int file;
};

struct opened {
    struct entry entry; /* of the block's own bytes */
    enum memory_kind kind;
    ino_t number;
    size_t offset;
    char *room; /* where the whole file is */
    size_t size;
    int users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry exports = REGISTRY_EMPTY, opens = REGISTRY_EMPTY;

static struct entry pages_of(const struct allocation *allocation)
{
    uintptr_t start = allocation->entry.start, step = allocation->entry.size < SMALL ? PHYSICAL_GRANULARITY : PAGE;
    uintptr_t first = start / step * step;

    return (struct entry){first, (start + allocation->entry.size + step - 1) / step * step - first};
}

static bool become_file(struct exported *made)
{
    void *start = (void *)made->entry.start;
    size_t size = made->entry.size;

    made->file = memfd_create("gdbcuda-standin", MFD_CLOEXEC);
    return made->file >= 0 && !ftruncate(made->file, (off_t)size) && write(made->file, start, size) == (ssize_t)size &&
           mmap(start, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, made->file, 0) != MAP_FAILED;
}

static struct exported *exported(const struct allocation *allocation)
{
    struct exported *found = (struct exported *)registry_find(&exports, allocation->entry.start);
    struct exported *made = found ? NULL : calloc(1, sizeof *made);

    if (!made)
        return found;
    made->entry = pages_of(allocation);
    if (become_file(made) && registry_add(&exports, &made->entry))
        return made;
    free(made);
    return NULL;
}

CUresult shared_export(const struct allocation *allocation, void *ticket)
{
    struct stat status;

    INVALID_IF(!allocation || allocation->kind != MEMORY_DEVICE || allocation->graph_memory);
    pthread_mutex_lock(&lock);
    struct exported *found = exported(allocation);
    pthread_mutex_unlock(&lock);
    RETURN_IF(!found || fstat(found->file, &status), CUDA_ERROR_OUT_OF_MEMORY);
    *(struct ticket *)ticket = (struct ticket){getpid(), found->file, allocation->entry.start - found->entry.start,
                                               allocation->entry.size, status.st_ino};
    return CUDA_SUCCESS;
}

void shared_forget(const struct allocation *allocation)
{
    struct exported *found = NULL;

    if (allocation->entry.size >= SMALL)
        found = (struct exported *)registry_take(&exports, allocation->entry.start, NULL, NULL);
    if (found)
        close(found->file);
    free(found);
}

static bool of_ticket(const struct entry *entry, const void *wanted)
{
    const struct opened *opened = (const struct opened *)entry;
    const struct ticket *ticket = wanted;

    return opened->number == ticket->number && opened->offset == ticket->offset;
}

CUresult shared_map(int file, size_t offset, size_t bytes, enum memory_kind kind, CUdeviceptr *address)
{
    struct stat status;
    struct allocation *made;
    struct opened *opened = calloc(1, sizeof *opened);

    RETURN_IF(!opened, CUDA_ERROR_OUT_OF_MEMORY);
    size_t size = fstat(file, &status) ? 0 : (size_t)status.st_size;
    bool fits = bytes && offset <= size && bytes <= size - offset;
    char *room = fits ? arena_reserve(NULL, size) : NULL;
    if (!room || mmap(room, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED ||
        allocate_at(kind, room + offset, bytes, &made) != CUDA_SUCCESS) {
        free(opened);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *opened = (struct opened){{(uintptr_t)room + offset, bytes}, kind, status.st_ino, offset, room, size, 1};
    registry_add(&opens, &opened->entry);
    *address = opened->entry.start;
    return CUDA_SUCCESS;
}

static int file_of(const struct ticket *ticket)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)ticket->process, ticket->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &status) || status.st_ino != ticket->number)) {
        close(file);
        return -1;
    }
    return file;
}

static CUresult open_file(const struct ticket *ticket, enum memory_kind kind, CUdeviceptr *address)
{
    int file = file_of(ticket);

    INVALID_IF(file < 0);
    CUresult result = shared_map(file, ticket->offset, ticket->size, kind, address);
    close(file);
    return result;
}

CUresult shared_open(const void *given, enum memory_kind kind, CUdeviceptr *address)
{
    const struct ticket *ticket = given;

    RETURN_IF(ticket->process == getpid(), CUDA_ERROR_INVALID_CONTEXT);
    pthread_mutex_lock(&lock);
    struct opened *known = (struct opened *)registry_any(&opens, of_ticket, ticket);
    CUresult result = CUDA_SUCCESS;
    if (known) {
        known->users++;
        *address = known->entry.start;
    } else {
        result = open_file(ticket, kind, address);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult shared_close(CUdeviceptr address, enum memory_kind kind)
{
    pthread_mutex_lock(&lock);
    struct opened *known = (struct opened *)registry_find(&opens, address);
    if (known && (known->entry.start != address || known->kind != kind))
        known = NULL;
    bool is_last = known && --known->users == 0;
    pthread_mutex_unlock(&lock);
    INVALID_IF(!known);
    return is_last ? allocation_free(address, kind) : CUDA_SUCCESS;
}

void shared_end(CUdeviceptr address)
{
    struct opened *found = (struct opened *)registry_take(&opens, address, NULL, NULL);

    if (found)
        arena_release(found->room, found->size);
    free(found);
}

/* ---- between processes of the same driver ---- */

DRIVER(cuIpcGetMemHandle)(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    INVALID_IF(!pHandle);
    return shared_export(allocation_at(dptr), pHandle);
}

DRIVER(cuIpcOpenMemHandle_v2)(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    INVALID_IF(!pdptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    return shared_open(&handle, MEMORY_OPENED, pdptr);
}

DRIVER(cuIpcCloseMemHandle)(CUdeviceptr dptr)
{
    const struct allocation *found = allocation_at(dptr);

    INVALID_IF(!found || found->kind != MEMORY_OPENED);
    return shared_close(dptr, MEMORY_OPENED);
}
