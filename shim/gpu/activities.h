/* What CUPTI tells, as our records. */
#ifndef GDBCUDA_GPU_ACTIVITIES_H
#define GDBCUDA_GPU_ACTIVITIES_H

#include "cupti_library.h"

/* CUPTI asks for a buffer, and hands it over, in a thread of its own. */
void CUPTIAPI activities_give(uint8_t **buffer, size_t *size, size_t *most_records);
void CUPTIAPI activities_take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* What its clock and ours are now; under the lock of the records. */
void activities_clock(void);

/* Whether the program has unified memory. */
extern int activities_managed;

#endif
