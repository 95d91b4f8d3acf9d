/* How clients find functions and names: cuGetProcAddress, cuGetExportTable, the names of errors. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "standin_driver_tables.h" /* generated: proc_versions, error_names, error_texts */

static int compare_name(const void *name, const void *row)
{
    return strcmp(name, ((const struct proc_version *)row)->name);
}

/* The newest entry of that name, stream flavour and at most that version. Rows are sorted by name. */
static const struct proc_version *newest(const struct proc_version *row, int version, bool per_thread)
{
    const struct proc_version *end = proc_versions + LENGTH(proc_versions), *best = NULL;

    while (row > proc_versions && strcmp(row[-1].name, row->name) == 0)
        row--;
    for (const char *name = row->name; row < end && strcmp(row->name, name) == 0; row++)
        if (row->per_thread == per_thread && row->version <= version && (!best || row->version > best->version))
            best = row;
    return best;
}

static CUdriverProcAddressQueryResult find(const char *symbol, void **address, int version, cuuint64_t flags)
{
    const struct proc_version *row =
        bsearch(symbol, proc_versions, LENGTH(proc_versions), sizeof proc_versions[0], compare_name);

    if (!row)
        return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const struct proc_version *best = NULL;
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        best = newest(row, version, true);
    if (!best)
        best = newest(row, version, false);
    if (!best)
        return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    *address = best->address;
    return CU_GET_PROC_ADDRESS_SUCCESS;
}

DRIVER_ANY(cuGetProcAddress_v2)(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *symbolStatus)
{
    INVALID_IF(!symbol || !pfn || flags > 3 || flags == 3);
    *pfn = NULL;
    CUdriverProcAddressQueryResult status = find(symbol, pfn, cudaVersion, flags);
    if (symbolStatus)
        *symbolStatus = status;
    return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

DRIVER_ANY(cuGetProcAddress)(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return do_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

/* These tables are private between the vendor's libraries, and part of their test of each other: there are none here. */
DRIVER_ANY(cuGetExportTable)(const void **ppExportTable, const CUuuid *pExportTableId)
{
    INVALID_IF(!ppExportTable || !pExportTableId);
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

static const struct error *error_of(CUresult error)
{
    for (size_t i = 0; i < LENGTH(errors); i++)
        if (errors[i].code == (int)error)
            return &errors[i];
    return NULL;
}

const char *error_name(int code)
{
    const struct error *found = error_of((CUresult)code);

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
