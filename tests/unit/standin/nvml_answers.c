/* Questions to libnvidia-ml that every NVML must answer alike. */
#include "answers.h"

#include <stdio.h>

static const char *name_of(nvmlReturn_t result)
{
    static char text[16];

    snprintf(text, sizeof text, "%d", (int)result);
    return text;
}
#define NAME_OF name_of

static nvmlDevice_t device;

static void before_init(void)
{
    unsigned count;
    char text[96];

    ASK(nvmlDeviceGetCount_v2(&count));
    ASK(nvmlDeviceGetHandleByIndex_v2(0, &device));
    ASK(nvmlSystemGetDriverVersion(text, sizeof text));
    ASK(nvmlShutdown());
    ASK(nvmlInitWithFlags(0x100));
    ASK(nvmlInit_v2());
    ASK(nvmlInit_v2());
    ASK(nvmlShutdown());
    ASK(nvmlDeviceGetCount_v2(&count));
}

static void handles(void)
{
    nvmlDevice_t same;
    char text[96];
    nvmlPciInfo_t pci;
    unsigned index;

    ASK(nvmlDeviceGetCount_v2(NULL));
    ASK(nvmlDeviceGetHandleByIndex_v2(0, NULL));
    ASK(nvmlDeviceGetHandleByIndex_v2(1000, &device));
    ASK(nvmlDeviceGetHandleByIndex_v2(0, &device));
    ASK(nvmlDeviceGetUUID(device, text, sizeof text));
    ASK(nvmlDeviceGetHandleByUUID(text, &same));
    SHOW(same == device);
    ASK(nvmlDeviceGetHandleByUUID("GPU-rubbish", &same));
    ASK(nvmlDeviceGetHandleByUUID(NULL, &same));
    ASK(nvmlDeviceGetUUID(device, text, 4));
    ASK(nvmlDeviceGetUUID(device, NULL, 96));
    ASK(nvmlDeviceGetUUID(NULL, text, sizeof text));
    ASK(nvmlDeviceGetName(device, text, 2));
    ASK(nvmlDeviceGetName(device, NULL, 96));
    ASK(nvmlDeviceGetPciInfo_v3(device, &pci));
    ASK(nvmlDeviceGetPciInfo_v3(device, NULL));
    ASK(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &same));
    SHOW(same == device);
    ASK(nvmlDeviceGetHandleByPciBusId_v2(pci.busIdLegacy, &same));
    SHOW(same == device);
    ASK(nvmlDeviceGetHandleByPciBusId_v2("0000:fe:1f.0", &same));
    ASK(nvmlDeviceGetHandleByPciBusId_v2("rubbish", &same));
    ASK(nvmlDeviceGetIndex(device, &index));
    SHOW(index);
    ASK(nvmlDeviceGetIndex(device, NULL));
    ASK(nvmlDeviceGetIndex(NULL, &index));
}

static void readings(void)
{
    nvmlMemory_t memory;
    nvmlMemory_v2_t memory_v2 = {.version = nvmlMemory_v2};
    nvmlUtilization_t utilization;
    nvmlTemperature_t temperature = {.version = nvmlTemperature_v1, .sensorType = NVML_TEMPERATURE_GPU};
    nvmlProcessInfo_t processes[64];
    nvmlFieldValue_t field = {.fieldId = 999999};
    unsigned value = 0;
    int major, minor;

    ASK(nvmlDeviceGetMemoryInfo(device, &memory));
    ASK(nvmlDeviceGetMemoryInfo(device, NULL));
    ASK(nvmlDeviceGetMemoryInfo_v2(device, &memory_v2));
    memory_v2.version = 1;
    ASK(nvmlDeviceGetMemoryInfo_v2(device, &memory_v2));
    ASK(nvmlDeviceGetUtilizationRates(device, &utilization));
    ASK(nvmlDeviceGetUtilizationRates(device, NULL));
    ASK(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &value));
    ASK(nvmlDeviceGetTemperature(device, 77, &value));
    ASK(nvmlDeviceGetTemperatureV(device, &temperature));
    temperature.version = 1;
    ASK(nvmlDeviceGetTemperatureV(device, &temperature));
    ASK(nvmlDeviceGetPowerUsage(device, &value));
    ASK(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &value));
    ASK(nvmlDeviceGetClockInfo(device, 77, &value));
    ASK(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
    ASK(nvmlDeviceGetCudaComputeCapability(device, NULL, &minor));
    value = 0;
    ASK(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &value, NULL));
    value = 64;
    ASK(nvmlDeviceGetComputeRunningProcesses_v3(device, &value, processes));
    ASK(nvmlDeviceGetComputeRunningProcesses_v3(device, NULL, processes));
    ASK(nvmlDeviceGetFieldValues(device, 1, &field));
    SHOW(field.nvmlReturn);
    ASK(nvmlDeviceGetFanSpeed(device, &value));
    ASK(nvmlDeviceGetNumFans(device, &value));
    ASK(nvmlSystemGetProcessName(0x7fffffff, NULL, 10));
    ASK(nvmlSystemGetCudaDriverVersion_v2(NULL));
    ASK(nvmlSystemGetDriverVersion(NULL, 80));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    before_init();
    handles();
    readings();
    ASK(nvmlShutdown());
    ASK(nvmlShutdown());
    return 0;
}
