/* Memory and processes: what the stand-in driver in this process has handed out. NVML sees no other process, because
 * there is no device between them. */
#include "nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

typedef bool usage_function(int device, size_t *bytes);

static usage_function *find_usage(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static usage_function *found;

    pthread_mutex_lock(&lock);
    if (!found) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); /* NULL while the program has not loaded it */
        found = driver ? (usage_function *)dlsym(driver, "gdbcuda_standin_usage") : NULL;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool driver_usage(int device, size_t *bytes)
{
    usage_function *usage = find_usage();

    *bytes = 0;
    return usage && usage(device, bytes);
}

NVML(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t *memory)
{
    size_t used;

    INVALID_IF(device_number(device) < 0 || !memory);
    driver_usage(device_number(device), &used);
    *memory = (nvmlMemory_t){.total = model_memory(), .free = model_memory() - used, .used = used};
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    nvmlMemory_t plain;

    INVALID_IF(!memory);
    RETURN_IF(memory->version != nvmlMemory_v2, NVML_ERROR_FUNCTION_NOT_FOUND);
    TRY(do_nvmlDeviceGetMemoryInfo(device, &plain));
    memory->total = plain.total;
    memory->reserved = 0;
    memory->free = plain.free;
    memory->used = plain.used;
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetBAR1MemoryInfo)(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
    const unsigned long long window = 256ull << 20;

    INVALID_IF(device_number(device) < 0 || !bar1Memory);
    *bar1Memory = (nvmlBAR1Memory_t){.bar1Total = window, .bar1Free = window};
    return NVML_SUCCESS;
}

/* Sets *count to 0 or 1, the number of this process's entries; says whether there is room for it. */
static nvmlReturn_t own_entry(nvmlDevice_t device, unsigned *count, const void *infos, size_t *bytes)
{
    INVALID_IF(device_number(device) < 0 || !count || (*count && !infos));
    unsigned room = *count;
    *count = driver_usage(device_number(device), bytes);
    return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

enum { NO_INSTANCE = -1 };

NVML(nvmlDeviceGetComputeRunningProcesses)(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos)
{
    size_t bytes;

    TRY(own_entry(device, infoCount, infos, &bytes));
    if (*infoCount)
        *infos = (nvmlProcessInfo_v1_t){.pid = (unsigned)getpid(), .usedGpuMemory = bytes};
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetComputeRunningProcesses_v2)(nvmlDevice_t device, unsigned int *infoCount,
                                              nvmlProcessInfo_v2_t *infos)
{
    size_t bytes;

    TRY(own_entry(device, infoCount, infos, &bytes));
    if (*infoCount)
        *infos = (nvmlProcessInfo_v2_t){
            .pid = (unsigned)getpid(),
            .usedGpuMemory = bytes,
            .gpuInstanceId = (unsigned)NO_INSTANCE,
            .computeInstanceId = (unsigned)NO_INSTANCE,
        };
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetComputeRunningProcesses_v3)(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos)
{
    size_t bytes;

    TRY(own_entry(device, infoCount, infos, &bytes));
    if (*infoCount)
        *infos = (nvmlProcessInfo_t){
            .pid = (unsigned)getpid(),
            .usedGpuMemory = bytes,
            .gpuInstanceId = (unsigned)NO_INSTANCE,
            .computeInstanceId = (unsigned)NO_INSTANCE,
        };
    return NVML_SUCCESS;
}

/* Nobody draws here. */
NVML(nvmlDeviceGetGraphicsRunningProcesses_v3)(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos)
{
    (void)infos;
    ANSWER(device, infoCount, 0);
}

NVML(nvmlDeviceGetGraphicsRunningProcesses_v2)(nvmlDevice_t device, unsigned int *infoCount,
                                               nvmlProcessInfo_v2_t *infos)
{
    (void)infos;
    ANSWER(device, infoCount, 0);
}

NVML(nvmlDeviceGetGraphicsRunningProcesses)(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v1_t *infos)
{
    (void)infos;
    ANSWER(device, infoCount, 0);
}

NVML(nvmlDeviceGetProcessUtilization)(nvmlDevice_t device, nvmlProcessUtilizationSample_t *utilization,
                                      unsigned int *processSamplesCount, unsigned long long lastSeenTimeStamp)
{
    (void)utilization, (void)lastSeenTimeStamp;
    INVALID_IF(device_number(device) < 0 || !processSamplesCount);
    *processSamplesCount = 0;
    return NVML_ERROR_NOT_FOUND; /* as the real one says when no process has done anything since */
}
