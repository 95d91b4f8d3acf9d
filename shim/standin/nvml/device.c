/* Handles of devices, and what identifies them. */
#include "nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nvmlDevice_st {
    int number;
};

static struct nvmlDevice_st handles[MODEL_MAX_DEVICES];

int device_number(nvmlDevice_t device)
{
    for (int i = 0; i < model_devices(); i++)
        if (device == &handles[i])
            return i;
    return -1;
}

static nvmlReturn_t put_handle(int number, nvmlDevice_t *device)
{
    RETURN_IF(number < 0 || number >= model_devices(), NVML_ERROR_NOT_FOUND);
    handles[number].number = number;
    *device = &handles[number];
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetCount_v2)(unsigned int *deviceCount)
{
    INVALID_IF(!deviceCount);
    *deviceCount = (unsigned)model_devices();
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetHandleByIndex_v2)(unsigned int index, nvmlDevice_t *device)
{
    INVALID_IF(!device || index >= (unsigned)model_devices());
    return put_handle((int)index, device);
}

static int number_of_text(const char *wanted, void (*write)(int device, char text[MODEL_TEXT]))
{
    for (int i = 0; i < model_devices(); i++) {
        char text[MODEL_TEXT];
        write(i, text);
        if (strcmp(text, wanted) == 0)
            return i;
    }
    return -1;
}

static void serial_text(int device, char text[MODEL_TEXT])
{
    snprintf(text, MODEL_TEXT, "%013d", device + 1);
}

NVML(nvmlDeviceGetHandleByUUID)(const char *uuid, nvmlDevice_t *device)
{
    INVALID_IF(!uuid || !device);
    return put_handle(number_of_text(uuid, model_uuid_text), device);
}

NVML(nvmlDeviceGetHandleBySerial)(const char *serial, nvmlDevice_t *device)
{
    INVALID_IF(!serial || !device);
    return put_handle(number_of_text(serial, serial_text), device);
}

NVML(nvmlDeviceGetHandleByPciBusId_v2)(const char *pciBusId, nvmlDevice_t *device)
{
    INVALID_IF(!pciBusId || !device || model_device_at(pciBusId) == MODEL_NOT_PCI);
    return put_handle(model_device_at(pciBusId), device);
}

NVML(nvmlDeviceGetName)(nvmlDevice_t device, char *name, unsigned int length)
{
    INVALID_IF(device_number(device) < 0);
    return put_text(name, length, MODEL_NAME);
}

NVML(nvmlDeviceGetUUID)(nvmlDevice_t device, char *uuid, unsigned int length)
{
    char text[MODEL_TEXT];

    INVALID_IF(device_number(device) < 0);
    model_uuid_text(device_number(device), text);
    return put_text(uuid, length, text);
}

NVML(nvmlDeviceGetSerial)(nvmlDevice_t device, char *serial, unsigned int length)
{
    char text[MODEL_TEXT];

    INVALID_IF(device_number(device) < 0);
    serial_text(device_number(device), text);
    return put_text(serial, length, text);
}

NVML(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned int *index)
{
    ANSWER(device, index, (unsigned)device_number(device));
}

NVML(nvmlDeviceGetMinorNumber)(nvmlDevice_t device, unsigned int *minorNumber)
{
    ANSWER(device, minorNumber, (unsigned)device_number(device));
}

NVML(nvmlDeviceGetBoardId)(nvmlDevice_t device, unsigned int *boardId)
{
    ANSWER(device, boardId, (unsigned)model_pci_bus(device_number(device)) << 8);
}

NVML(nvmlDeviceGetBrand)(nvmlDevice_t device, nvmlBrandType_t *type)
{
    ANSWER(device, type, NVML_BRAND_UNKNOWN);
}

NVML(nvmlDeviceGetVbiosVersion)(nvmlDevice_t device, char *version, unsigned int length)
{
    INVALID_IF(device_number(device) < 0);
    return put_text(version, length, "00.00.00.00.00");
}

static void put_pci(int device, nvmlPciInfo_t *pci)
{
    char text[MODEL_TEXT];

    memset(pci, 0, sizeof *pci);
    pci->bus = (unsigned)model_pci_bus(device);
    model_pci_text(device, 4, text);
    memcpy(pci->busIdLegacy, text, strlen(text));
    model_pci_text(device, 8, text);
    memcpy(pci->busId, text, strlen(text));
}

NVML(nvmlDeviceGetPciInfo_v3)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    INVALID_IF(device_number(device) < 0 || !pci);
    put_pci(device_number(device), pci);
    return NVML_SUCCESS;
}

/* The older versions know a shorter struct, of which the beginning is the same. */
static nvmlReturn_t put_old_pci(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    nvmlPciInfo_t whole;

    INVALID_IF(device_number(device) < 0 || !pci);
    put_pci(device_number(device), &whole);
    memcpy(pci, &whole, offsetof(nvmlPciInfo_t, busId));
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetPciInfo)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return put_old_pci(device, pci);
}

NVML(nvmlDeviceGetPciInfo_v2)(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return put_old_pci(device, pci);
}

NVML(nvmlDeviceGetCudaComputeCapability)(nvmlDevice_t device, int *major, int *minor)
{
    INVALID_IF(device_number(device) < 0 || !major || !minor);
    *major = MODEL_COMPUTE_MAJOR;
    *minor = MODEL_COMPUTE_MINOR;
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetArchitecture)(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
    ANSWER(device, arch, NVML_DEVICE_ARCH_HOPPER);
}

NVML(nvmlDeviceGetNumGpuCores)(nvmlDevice_t device, unsigned int *numCores)
{
    ANSWER(device, numCores, MODEL_MULTIPROCESSORS * MODEL_CORES_PER_MULTIPROCESSOR);
}

NVML(nvmlDeviceGetMemoryBusWidth)(nvmlDevice_t device, unsigned int *busWidth)
{
    ANSWER(device, busWidth, MODEL_MEMORY_BUS_BITS);
}

NVML(nvmlDeviceGetTopologyCommonAncestor)(nvmlDevice_t device1, nvmlDevice_t device2,
                                          nvmlGpuTopologyLevel_t *pathInfo)
{
    INVALID_IF(device_number(device2) < 0);
    ANSWER(device1, pathInfo, device1 == device2 ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_HOSTBRIDGE);
}

NVML(nvmlDeviceOnSameBoard)(nvmlDevice_t device1, nvmlDevice_t device2, int *onSameBoard)
{
    INVALID_IF(device_number(device2) < 0);
    ANSWER(device1, onSameBoard, device1 == device2);
}
