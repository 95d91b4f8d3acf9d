/* What a monitor shows: load, temperature, power, clocks, modes. An idle device that never changes. */
#include "nvml.h"

NVML(nvmlDeviceGetUtilizationRates)(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    ANSWER(device, utilization, ((nvmlUtilization_t){0, 0}));
}

static nvmlReturn_t idle(nvmlDevice_t device, unsigned *utilization, unsigned *period)
{
    INVALID_IF(device_number(device) < 0 || !utilization || !period);
    *utilization = 0;
    *period = 1000000;
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetEncoderUtilization)(nvmlDevice_t device, unsigned int *utilization, unsigned int *samplingPeriodUs)
{
    return idle(device, utilization, samplingPeriodUs);
}

NVML(nvmlDeviceGetDecoderUtilization)(nvmlDevice_t device, unsigned int *utilization, unsigned int *samplingPeriodUs)
{
    return idle(device, utilization, samplingPeriodUs);
}

NVML(nvmlDeviceGetTemperature)(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp)
{
    INVALID_IF(sensorType != NVML_TEMPERATURE_GPU);
    ANSWER(device, temp, MODEL_TEMPERATURE);
}

NVML(nvmlDeviceGetTemperatureV)(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    INVALID_IF(device_number(device) < 0 || !temperature);
    RETURN_IF(temperature->version != nvmlTemperature_v1, NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    INVALID_IF(temperature->sensorType != NVML_TEMPERATURE_GPU);
    temperature->temperature = MODEL_TEMPERATURE;
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetTemperatureThreshold)(nvmlDevice_t device, nvmlTemperatureThresholds_t thresholdType,
                                        unsigned int *temp)
{
    RETURN_IF(thresholdType > NVML_TEMPERATURE_THRESHOLD_GPU_MAX, NVML_ERROR_NOT_SUPPORTED);
    ANSWER(device, temp, thresholdType == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN ? 95 : 90);
}

NVML(nvmlDeviceGetPowerUsage)(nvmlDevice_t device, unsigned int *power)
{
    ANSWER(device, power, MODEL_POWER);
}

NVML(nvmlDeviceGetPowerManagementMode)(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    ANSWER(device, mode, NVML_FEATURE_ENABLED);
}

NVML(nvmlDeviceGetPowerManagementLimit)(nvmlDevice_t device, unsigned int *limit)
{
    ANSWER(device, limit, MODEL_POWER_LIMIT);
}

NVML(nvmlDeviceGetPowerManagementDefaultLimit)(nvmlDevice_t device, unsigned int *defaultLimit)
{
    ANSWER(device, defaultLimit, MODEL_POWER_LIMIT);
}

NVML(nvmlDeviceGetEnforcedPowerLimit)(nvmlDevice_t device, unsigned int *limit)
{
    ANSWER(device, limit, MODEL_POWER_LIMIT);
}

NVML(nvmlDeviceGetPowerManagementLimitConstraints)(nvmlDevice_t device, unsigned int *minLimit,
                                                   unsigned int *maxLimit)
{
    INVALID_IF(!minLimit);
    *minLimit = MODEL_POWER_LIMIT / 3;
    ANSWER(device, maxLimit, MODEL_POWER_LIMIT);
}

NVML(nvmlDeviceGetPerformanceState)(nvmlDevice_t device, nvmlPstates_t *pState)
{
    ANSWER(device, pState, NVML_PSTATE_0);
}

NVML(nvmlDeviceGetPowerState)(nvmlDevice_t device, nvmlPstates_t *pState)
{
    ANSWER(device, pState, NVML_PSTATE_0);
}

static nvmlReturn_t put_clock(nvmlDevice_t device, nvmlClockType_t type, unsigned *clock)
{
    RETURN_IF(type >= NVML_CLOCK_COUNT, NVML_ERROR_NOT_SUPPORTED);
    ANSWER(device, clock, (type == NVML_CLOCK_MEM ? MODEL_MEMORY_CLOCK_KHZ : MODEL_CLOCK_KHZ) / 1000);
}

NVML(nvmlDeviceGetClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return put_clock(device, type, clock);
}

NVML(nvmlDeviceGetMaxClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return put_clock(device, type, clock);
}

NVML(nvmlDeviceGetApplicationsClock)(nvmlDevice_t device, nvmlClockType_t clockType, unsigned int *clockMHz)
{
    return put_clock(device, clockType, clockMHz);
}

NVML(nvmlDeviceGetDefaultApplicationsClock)(nvmlDevice_t device, nvmlClockType_t clockType, unsigned int *clockMHz)
{
    return put_clock(device, clockType, clockMHz);
}

NVML(nvmlDeviceGetClock)(nvmlDevice_t device, nvmlClockType_t clockType, nvmlClockId_t clockId,
                         unsigned int *clockMHz)
{
    INVALID_IF(clockId >= NVML_CLOCK_ID_COUNT);
    return put_clock(device, clockType, clockMHz);
}

static nvmlReturn_t only_clock(nvmlDevice_t device, unsigned clock, unsigned *count, unsigned *clocks)
{
    INVALID_IF(device_number(device) < 0 || !count || (*count && !clocks));
    unsigned room = *count;
    *count = 1;
    RETURN_IF(!room, NVML_ERROR_INSUFFICIENT_SIZE);
    *clocks = clock;
    return NVML_SUCCESS;
}

NVML(nvmlDeviceGetSupportedMemoryClocks)(nvmlDevice_t device, unsigned int *count, unsigned int *clocksMHz)
{
    return only_clock(device, MODEL_MEMORY_CLOCK_KHZ / 1000, count, clocksMHz);
}

NVML(nvmlDeviceGetSupportedGraphicsClocks)(nvmlDevice_t device, unsigned int memoryClockMHz, unsigned int *count,
                                           unsigned int *clocksMHz)
{
    RETURN_IF(memoryClockMHz != MODEL_MEMORY_CLOCK_KHZ / 1000, NVML_ERROR_NOT_FOUND);
    return only_clock(device, MODEL_CLOCK_KHZ / 1000, count, clocksMHz);
}

NVML(nvmlDeviceGetCurrentClocksThrottleReasons)(nvmlDevice_t device, unsigned long long *clocksThrottleReasons)
{
    ANSWER(device, clocksThrottleReasons, nvmlClocksThrottleReasonGpuIdle);
}

NVML(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned int *numFans)
{
    ANSWER(device, numFans, 0);
}

NVML(nvmlDeviceGetComputeMode)(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
    ANSWER(device, mode, NVML_COMPUTEMODE_DEFAULT);
}

NVML(nvmlDeviceGetPersistenceMode)(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    ANSWER(device, mode, NVML_FEATURE_ENABLED);
}

NVML(nvmlDeviceGetDisplayMode)(nvmlDevice_t device, nvmlEnableState_t *display)
{
    ANSWER(device, display, NVML_FEATURE_DISABLED);
}

NVML(nvmlDeviceGetDisplayActive)(nvmlDevice_t device, nvmlEnableState_t *isActive)
{
    ANSWER(device, isActive, NVML_FEATURE_DISABLED);
}

NVML(nvmlDeviceGetVirtualizationMode)(nvmlDevice_t device, nvmlGpuVirtualizationMode_t *pVirtualMode)
{
    ANSWER(device, pVirtualMode, NVML_GPU_VIRTUALIZATION_MODE_NONE);
}

NVML(nvmlDeviceGetMultiGpuBoard)(nvmlDevice_t device, unsigned int *multiGpuBool)
{
    ANSWER(device, multiGpuBool, 0);
}

NVML(nvmlDeviceGetMaxPcieLinkGeneration)(nvmlDevice_t device, unsigned int *maxLinkGen)
{
    ANSWER(device, maxLinkGen, 5);
}

NVML(nvmlDeviceGetCurrPcieLinkGeneration)(nvmlDevice_t device, unsigned int *currLinkGen)
{
    ANSWER(device, currLinkGen, 5);
}

NVML(nvmlDeviceGetMaxPcieLinkWidth)(nvmlDevice_t device, unsigned int *maxLinkWidth)
{
    ANSWER(device, maxLinkWidth, 16);
}

NVML(nvmlDeviceGetCurrPcieLinkWidth)(nvmlDevice_t device, unsigned int *currLinkWidth)
{
    ANSWER(device, currLinkWidth, 16);
}

NVML(nvmlDeviceGetPcieThroughput)(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value)
{
    INVALID_IF(counter >= NVML_PCIE_UTIL_COUNT);
    ANSWER(device, value, 0);
}

NVML(nvmlDeviceGetPcieReplayCounter)(nvmlDevice_t device, unsigned int *value)
{
    ANSWER(device, value, 0);
}

/* Every field has a status of its own, and none is kept here. */
NVML(nvmlDeviceGetFieldValues)(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
    INVALID_IF(device_number(device) < 0 || valuesCount < 0 || !values);
    for (int i = 0; i < valuesCount; i++)
        values[i].nvmlReturn = values[i].fieldId < NVML_FI_MAX ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    return NVML_SUCCESS;
}

/* No device is split into instances. */
NVML(nvmlDeviceIsMigDeviceHandle)(nvmlDevice_t device, unsigned int *isMigDevice)
{
    ANSWER(device, isMigDevice, 0);
}

NVML(nvmlDeviceGetMaxMigDeviceCount)(nvmlDevice_t device, unsigned int *count)
{
    ANSWER(device, count, 0);
}
