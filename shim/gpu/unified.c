#include "unified.h"
#include "activities.h"
#include "records.h"

#include <stdio.h>

static int is_begun;

static CUptiResult ask(void)
{
    CUpti_ActivityUnifiedMemoryCounterConfig wanted[] = {
        {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
         CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 0, 1},
        {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
         CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 0, 1},
        {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
         CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 0, 1},
    };
    if (!cupti.cuptiActivityConfigureUnifiedMemoryCounter)
        return CUPTI_ERROR_NOT_SUPPORTED;
    CUptiResult result = cupti.cuptiActivityConfigureUnifiedMemoryCounter(wanted, sizeof wanted / sizeof *wanted);
    return result == CUPTI_SUCCESS ? cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) : result;
}

void unified_begin(void)
{
    char text[256];
    if (!__atomic_load_n(&activities_managed, __ATOMIC_RELAXED) || is_begun ||
        __atomic_exchange_n(&is_begun, 1, __ATOMIC_SEQ_CST))
        return;
    CUptiResult result = ask();
    snprintf(text, sizeof text, "unified memory is not told: %s", cupti_said(result));
    if (result != CUPTI_SUCCESS)
        records_remark(text);
}

void unified_end(void)
{
    if (is_begun)
        cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}
