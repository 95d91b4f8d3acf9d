#include "asking.h"
#include "activities.h"
#include "causes.h"
#include "records.h"
#include "unified.h"

#include <stdio.h>

static int is_stopped;

static void remark(const char *what, CUptiResult result)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", what, cupti_said(result));
    records_remark(text);
}

static const struct {
    CUpti_ActivityKind kind;
    const char *without;
} kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels are not told"},
    {CUPTI_ACTIVITY_KIND_DEVICE, "the device is not told"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies are not told"},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between devices are not told"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "fills are not told"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "waits are not told"},
    {CUPTI_ACTIVITY_KIND_MEMORY2, "memory is not told"},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, "memory pools are not told"},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "the calls that work comes from are not told"},
};

/* The kernel's number of a thread, as the recorder has it; CUPTI's own default is that of the C library. */
static void number_threads(void)
{
    if (cupti.cuptiSetThreadIdType)
        cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

int asking_begin(int with_calls, char *why, unsigned long room)
{
    CUptiResult result = cupti.cuptiActivityRegisterCallbacks(activities_give, activities_take);
    number_threads();
    for (size_t i = 0; result == CUPTI_SUCCESS && i < sizeof kinds / sizeof *kinds; i++) {
        CUptiResult said = cupti.cuptiActivityEnable(kinds[i].kind);
        if (said != CUPTI_SUCCESS && !i)
            result = said;
        else if (said != CUPTI_SUCCESS)
            remark(kinds[i].without, said);
    }
    if (result != CUPTI_SUCCESS) {
        snprintf(why, room, "CUPTI tells nothing (%s)", cupti_said(result));
        return 0;
    }
    if (with_calls && (result = calls_begin()) != CUPTI_SUCCESS)
        remark("calls are not told", result);
    records_lock();
    activities_clock();
    records_write();
    records_unlock();
    return 1;
}

void asking_flush(void)
{
    if (records_are_own() && !__atomic_load_n(&is_stopped, __ATOMIC_SEQ_CST))
        cupti.cuptiActivityFlushAll(0);
}

static void end_file(void)
{
    records_lock();
    records_dropped(0);
    activities_clock();
    records_add(GPU_END, (word[GPU_END_SIZE]){0}, GPU_END_SIZE);
    records_write();
    records_unlock();
}

void asking_finish(void)
{
    if (!records_are_own() || __atomic_load_n(&is_stopped, __ATOMIC_SEQ_CST))
        return;
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    end_file();
}

/* Buffers of ours that CUPTI kept would be handed to the other one, which does not know them. */
void asking_stop(const char *why)
{
    if (!records_are_own() || __atomic_exchange_n(&is_stopped, 1, __ATOMIC_SEQ_CST))
        return;
    causes_end();
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        cupti.cuptiActivityDisable(kinds[i].kind);
    calls_end();
    unified_end();
    if (cupti.cuptiSetThreadIdType)
        cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    records_remark(why);
    end_file();
}
