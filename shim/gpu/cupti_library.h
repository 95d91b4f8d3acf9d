/* CUPTI, which is looked for where the program runs: programs without it, and machines, go on. */
#ifndef GDBCUDA_GPU_CUPTI_LIBRARY_H
#define GDBCUDA_GPU_CUPTI_LIBRARY_H

#include <cupti.h>

#define NEEDED(X)                                                                                                      \
    X(cuptiGetVersion)                                                                                                 \
    X(cuptiGetResultString)                                                                                            \
    X(cuptiGetTimestamp)                                                                                               \
    X(cuptiActivityRegisterCallbacks)                                                                                  \
    X(cuptiActivityEnable)                                                                                             \
    X(cuptiActivityDisable)                                                                                            \
    X(cuptiActivityGetNextRecord)                                                                                      \
    X(cuptiActivityGetNumDroppedRecords)                                                                               \
    X(cuptiActivityFlushAll)                                                                                           \
    X(cuptiActivityPushExternalCorrelationId)                                                                          \
    X(cuptiActivityPopExternalCorrelationId)                                                                           \
    X(cuptiGetCallbackName)
#define WANTED(X) /* not in every version */                                                                           \
    X(cuptiSetThreadIdType)                                                                                            \
    X(cuptiActivityConfigureUnifiedMemoryCounter)

#define POINTER(name) __typeof__(&name) name;
struct cupti_library {
    NEEDED(POINTER)
    WANTED(POINTER)
    CUptiResult (*cuptiActivityEnableRuntimeApi)(CUpti_CallbackId, uint8_t); /* not in the headers of CUDA 11 */
    CUptiResult (*cuptiActivityEnableDriverApi)(CUpti_CallbackId, uint8_t);
};
#undef POINTER
extern struct cupti_library cupti;

/* 0 with why there is none. */
int cupti_load(char *why, unsigned long room);

const char *cupti_said(CUptiResult result);

#endif
