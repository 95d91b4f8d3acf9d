/* Pages of unified memory, in programs that have any: CUPTI can be asked for them once a context is there. */
#ifndef GDBCUDA_GPU_UNIFIED_H
#define GDBCUDA_GPU_UNIFIED_H

/* Outside of a call of CUDA; does nothing but once. */
void unified_begin(void);
void unified_end(void);

#endif
