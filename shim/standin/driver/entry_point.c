/* How clients find functions and names: cuGetProcAddress, the names of errors. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "standin_driver_tables.h" /* generated: proc_versions, error_of */

static int compare_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct proc_version *)row)->name);
}

/* All rows of one name; the table is sorted by name. */
struct rows {
    const struct proc_version *first, *end;
};

static struct rows rows_of(const char *symbol)
{
    const struct proc_version *found =
        bsearch(symbol, proc_versions, LENGTH(proc_versions), sizeof proc_versions[0], compare_name);
    struct rows rows = {found, found};

    if (!found)
        return rows;
    while (rows.first > proc_versions && strcmp(rows.first[-1].name, symbol) == 0)
        rows.first--;
    while (rows.end < proc_versions + LENGTH(proc_versions) && strcmp(rows.end->name, symbol) == 0)
        rows.end++;
    return rows;
}

static bool has_per_thread(struct rows rows)
{
    for (const struct proc_version *row = rows.first; row < rows.end; row++)
        if (row->per_thread)
            return true;
    return false;
}

/* NULL when every one of that kind is newer than the version. */
static const struct proc_version *newest(struct rows rows, unsigned version, bool per_thread)
{
    const struct proc_version *best = NULL;

    for (const struct proc_version *row = rows.first; row < rows.end; row++)
        if (row->per_thread == per_thread && row->version <= version && (!best || row->version > best->version))
            best = row;
    return best;
}

/* A function without a stream has only one kind, which then serves both; one that has both never answers with the
 * other. The version is unsigned: -1 asks for the newest. */
static CUdriverProcAddressQueryResult find(const char *symbol, void **address, int version, cuuint64_t flags)
{
    struct rows rows = rows_of(symbol);

    if (!rows.first)
        return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && has_per_thread(rows);
    const struct proc_version *best = newest(rows, (unsigned)version, per_thread);
    if (!best)
        return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    *address = best->address;
    return CU_GET_PROC_ADDRESS_SUCCESS;
}

static const cuuint64_t known_flags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

/* A name that is not found is a success with a NULL address: the status says why. */
DRIVER_ANY(cuGetProcAddress_v2)(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *symbolStatus)
{
    INVALID_IF(!symbol || !pfn || flags & ~known_flags);
    *pfn = NULL;
    CUdriverProcAddressQueryResult status = find(symbol, pfn, cudaVersion, flags);
    if (symbolStatus)
        *symbolStatus = status;
    return CUDA_SUCCESS;
}

/* The older one has no status: it returns an error and leaves the address alone. */
DRIVER_ANY(cuGetProcAddress)(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    INVALID_IF(!symbol || !pfn || flags & ~known_flags);
    return find(symbol, pfn, cudaVersion, flags) == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_NOT_FOUND;
}

const char *error_name(int code)
{
    const struct error *found = error_of(code);

    return found ? found->name : "unknown error";
}

DRIVER_ANY(cuGetErrorName)(CUresult error, const char **pStr)
{
    INVALID_IF(!pStr);
    const struct error *found = error_of(error);
    *pStr = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ANY(cuGetErrorString)(CUresult error, const char **pStr)
{
    INVALID_IF(!pStr);
    const struct error *found = error_of(error);
    *pStr = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
