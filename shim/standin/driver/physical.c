/* Physical memory of virtual memory management: a file without a name, so that mapping it twice, or in another
 * process that was handed the file, shows the same bytes. */
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry physicals = REGISTRY_EMPTY;

static CUresult check_properties(const CUmemAllocationProp *prop)
{
    INVALID_IF(!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED);
    RETURN_IF(prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
    RETURN_IF(!device_valid(prop->location.id), CUDA_ERROR_INVALID_DEVICE);
    return CUDA_SUCCESS;
}

struct physical *physical_get(CUmemGenericAllocationHandle handle)
{
    struct physical *physical = (struct physical *)registry_find(&physicals, handle);

    return physical && physical->handles ? physical : NULL;
}

bool physical_granular(size_t size)
{
    return size && size % PHYSICAL_GRANULARITY == 0;
}

void physical_hold(struct physical *physical)
{
    pthread_mutex_lock(&lock);
    physical->users++;
    pthread_mutex_unlock(&lock);
}

void physical_retain(struct physical *physical)
{
    pthread_mutex_lock(&lock);
    physical->users++;
    physical->handles++;
    pthread_mutex_unlock(&lock);
}

void physical_drop(struct physical *physical)
{
    pthread_mutex_lock(&lock);
    bool last = --physical->users == 0;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    registry_take(&physicals, physical->entry.start, NULL, NULL);
    device_uncharge(physical->properties.location.id, physical->charged);
    close(physical->file);
    if (physical->exporter)
        physical_drop(physical->exporter);
    free(physical);
}

/* Takes the file over when it succeeds. */
static CUresult physical_new(CUmemGenericAllocationHandle *handle, struct physical wanted)
{
    struct physical *physical = malloc(sizeof *physical);

    RETURN_IF(!physical, CUDA_ERROR_OUT_OF_MEMORY);
    *physical = wanted;
    physical->entry = (struct entry){(uintptr_t)physical, 1};
    physical->users = physical->handles = 1;
    if (!registry_add(&physicals, &physical->entry)) {
        free(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = physical->entry.start;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemGetAllocationGranularity)(size_t *granularity, const CUmemAllocationProp *prop,
                                           CUmemAllocationGranularity_flags option)
{
    INVALID_IF(!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    TRY(check_properties(prop));
    *granularity = PHYSICAL_GRANULARITY;
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop)
{
    int file = memfd_create("gdbcuda-standin", MFD_CLOEXEC);

    RETURN_IF(file < 0, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = ftruncate(file, (off_t)size) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = physical_new(handle,
                              (struct physical){.properties = *prop, .size = size, .charged = size, .file = file});
    if (result != CUDA_SUCCESS)
        close(file);
    return result;
}

DRIVER_INIT(cuMemCreate)(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                         unsigned long long flags)
{
    INVALID_IF(!handle || flags || !physical_granular(size));
    TRY(check_properties(prop));
    TRY(device_charge(prop->location.id, size));
    CUresult result = create(handle, size, prop);
    if (result != CUDA_SUCCESS)
        device_uncharge(prop->location.id, size);
    return result;
}

DRIVER_INIT(cuMemRelease)(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct physical *physical = physical_get(handle);
    if (physical)
        physical->handles--;
    pthread_mutex_unlock(&lock);
    INVALID_IF(!physical);
    physical_drop(physical);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemGetAllocationPropertiesFromHandle)(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    const struct physical *physical = physical_get(handle);

    INVALID_IF(!prop || !physical);
    *prop = physical->properties;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuMemExportToShareableHandle)(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType handleType, unsigned long long flags)
{
    const struct physical *physical = physical_get(handle);

    INVALID_IF(!shareableHandle || flags || !physical);
    RETURN_IF(handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    INVALID_IF(!(physical->properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    *(int *)shareableHandle = dup(physical->file);
    return CUDA_SUCCESS;
}

static bool of_file(const struct entry *entry, const void *wanted)
{
    const struct physical *physical = (const struct physical *)entry;
    const struct stat *file = wanted;
    struct stat own;

    return physical->users && !physical->exporter && !fstat(physical->file, &own) && own.st_ino == file->st_ino &&
           own.st_dev == file->st_dev;
}

/* What this process has made lives until its importers have let go, too. */
static struct physical *hold_exporter(const struct stat *file)
{
    pthread_mutex_lock(&lock);
    struct physical *exporter = (struct physical *)registry_any(&physicals, of_file, file);
    if (exporter)
        exporter->users++;
    pthread_mutex_unlock(&lock);
    return exporter;
}

static CUresult import(CUmemGenericAllocationHandle *handle, struct physical imported)
{
    struct stat status;

    INVALID_IF(fstat(imported.file, &status) || !physical_granular((size_t)status.st_size));
    imported.size = (size_t)status.st_size;
    imported.exporter = hold_exporter(&status);
    CUresult result = physical_new(handle, imported);
    if (result != CUDA_SUCCESS && imported.exporter)
        physical_drop(imported.exporter);
    return result;
}

/* The memory is charged to the process that made it. */
DRIVER_INIT(cuMemImportFromShareableHandle)(CUmemGenericAllocationHandle *handle, void *osHandle,
                                            CUmemAllocationHandleType shHandleType)
{
    struct physical imported = {.properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .requestedHandleTypes = shHandleType,
                                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}}};

    INVALID_IF(!handle);
    RETURN_IF(shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    imported.file = dup((int)(intptr_t)osHandle);
    INVALID_IF(imported.file < 0);
    CUresult result = import(handle, imported);
    if (result != CUDA_SUCCESS)
        close(imported.file);
    return result;
}
