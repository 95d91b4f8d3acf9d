/* cuInit, and which devices there are. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool done;
    int count;
    int physical[MODEL_MAX_DEVICES];
} devices;

/* One entry of CUDA_VISIBLE_DEVICES: a number, or the beginning of a UUID. -1: no such device. */
static int named_device(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    if (end != name && *end == '\0')
        return number >= 0 && number < model_devices() ? (int)number : -1;
    for (int i = 0; i < model_devices(); i++) {
        char uuid[MODEL_TEXT];
        model_uuid_text(i, uuid);
        if (strlen(name) > 4 && strncmp(name, uuid, strlen(name)) == 0)
            return i;
    }
    return -1;
}

/* As the real driver does: the list ends at the first entry that names no device. */
static void choose_visible(const char *list)
{
    char *copy = strdup(list), *rest = copy;

    for (char *name; (name = strsep(&rest, ",")) && devices.count < MODEL_MAX_DEVICES;) {
        int device = named_device(name);
        if (device < 0)
            break;
        devices.physical[devices.count++] = device;
    }
    free(copy);
}

static void find_devices(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    if (visible) {
        choose_visible(visible);
    } else {
        devices.count = model_devices();
        for (int i = 0; i < devices.count; i++)
            devices.physical[i] = i;
    }
    devices.done = true;
}

DRIVER_ANY(cuInit)(unsigned int Flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    INVALID_IF(Flags);
    pthread_once(&once, find_devices);
    load_injection();
    return devices.count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult need_init(void)
{
    RETURN_IF(!devices.done, CUDA_ERROR_NOT_INITIALIZED);
    return devices.count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

int device_count(void)
{
    return devices.count;
}

bool device_valid(CUdevice device)
{
    return device >= 0 && device < devices.count;
}

int device_physical(CUdevice device)
{
    return devices.physical[device];
}

DRIVER_ANY(cuDriverGetVersion)(int *driverVersion)
{
    INVALID_IF(!driverVersion);
    *driverVersion = CUDA_VERSION;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetCount)(int *count)
{
    INVALID_IF(!count);
    *count = devices.count;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGet)(CUdevice *device, int ordinal)
{
    INVALID_IF(!device);
    RETURN_IF(!device_valid(ordinal), CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetName)(char *name, int len, CUdevice dev)
{
    INVALID_IF(!name || len <= 0);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t)len, "%s", MODEL_NAME);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice dev)
{
    INVALID_IF(!uuid);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    model_uuid(device_physical(dev), (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetUuid)(CUuuid *uuid, CUdevice dev)
{
    return get_uuid(uuid, dev);
}

DRIVER_INIT(cuDeviceGetUuid_v2)(CUuuid *uuid, CUdevice dev)
{
    return get_uuid(uuid, dev);
}

DRIVER_INIT(cuDeviceTotalMem_v2)(size_t *bytes, CUdevice dev)
{
    INVALID_IF(!bytes);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    *bytes = model_memory();
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuDeviceGetPCIBusId)(char *pciBusId, int len, CUdevice dev)
{
    char text[MODEL_TEXT];

    INVALID_IF(!pciBusId || len <= 0);
    RETURN_IF(!device_valid(dev), CUDA_ERROR_INVALID_DEVICE);
    model_pci_text(device_physical(dev), 4, text);
    return model_copy_text(pciBusId, (size_t)len, text) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_INIT(cuDeviceGetByPCIBusId)(CUdevice *dev, const char *pciBusId)
{
    INVALID_IF(!dev || !pciBusId || model_device_at(pciBusId) == MODEL_NOT_PCI);
    int physical = model_device_at(pciBusId);
    for (int i = 0; i < devices.count; i++)
        if (devices.physical[i] == physical) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}
