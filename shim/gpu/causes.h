/* Which call a piece of work comes from: the recorder's, where one is in the process, else what CUPTI tells of calls. */
#ifndef GDBCUDA_GPU_CAUSES_H
#define GDBCUDA_GPU_CAUSES_H

#include "cupti_library.h"

#define CAUSE_KIND CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 /* PyTorch's profiler takes the others */

/* Whether a recorder is there, which tells of its calls from now on. */
int causes_begin(void);
void causes_end(void);

/* CUPTI tells of calls that make work. */
CUptiResult calls_begin(void);
void calls_end(void);

extern const char *const causing_functions[]; /* sorted, up to a 0 */
extern const unsigned long causing_functions_count;

#endif
