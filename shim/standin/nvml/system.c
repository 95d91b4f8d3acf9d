/* Initialisation, versions, names of errors and processes. */
#include "nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "standin_nvml_tables.h" /* generated: errors */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;

nvmlReturn_t need_init(void)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = users ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    pthread_mutex_unlock(&lock);
    return result;
}

NVML_ANY(nvmlInitWithFlags)(unsigned int flags)
{
    RETURN_IF(!model_devices() && !(flags & NVML_INIT_FLAG_NO_GPUS), NVML_ERROR_DRIVER_NOT_LOADED);
    pthread_mutex_lock(&lock);
    users++;
    pthread_mutex_unlock(&lock);
    return NVML_SUCCESS;
}

NVML_ANY(nvmlInit_v2)(void)
{
    return do_nvmlInitWithFlags(0);
}

/* As often as it was initialised; once more is an error. */
NVML_ANY(nvmlShutdown)(void)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t result = users ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (users)
        users--;
    pthread_mutex_unlock(&lock);
    return result;
}

const char *error_name(int code)
{
    return error_of(code) ? error_of(code)->name : "unknown error";
}

PLAIN(const char *, nvmlErrorString)(nvmlReturn_t result)
{
    return error_of((int)result) ? error_of((int)result)->text : "unknown error";
}

nvmlReturn_t put_text(char *room, unsigned length, const char *text)
{
    INVALID_IF(!room);
    return model_copy_text(room, length, text) ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

NVML(nvmlSystemGetDriverVersion)(char *version, unsigned int length)
{
    return put_text(version, length, MODEL_DRIVER_RELEASE);
}

NVML(nvmlSystemGetNVMLVersion)(char *version, unsigned int length)
{
    return put_text(version, length, "13." MODEL_DRIVER_RELEASE);
}

NVML_ANY(nvmlSystemGetCudaDriverVersion_v2)(int *cudaDriverVersion)
{
    INVALID_IF(!cudaDriverVersion);
    *cudaDriverVersion = CUDA_VERSION;
    return NVML_SUCCESS;
}

NVML(nvmlSystemGetProcessName)(unsigned int pid, char *name, unsigned int length)
{
    char path[64], command[4096];

    INVALID_IF(!name || !length);
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "r");
    RETURN_IF(!file, NVML_ERROR_NOT_FOUND);
    size_t read = fread(command, 1, sizeof command - 1, file);
    fclose(file);
    command[read] = '\0';
    snprintf(name, length, "%s", command); /* cut to fit, as the real one does */
    return NVML_SUCCESS;
}

NVML(nvmlSystemGetHicVersion)(unsigned int *hwbcCount, nvmlHwbcEntry_t *hwbcEntries)
{
    (void)hwbcEntries;
    INVALID_IF(!hwbcCount);
    *hwbcCount = 0;
    return NVML_SUCCESS;
}

NVML(nvmlGetExcludedDeviceCount)(unsigned int *deviceCount)
{
    INVALID_IF(!deviceCount);
    *deviceCount = 0;
    return NVML_SUCCESS;
}
