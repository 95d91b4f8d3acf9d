/* A thread of ours has CUPTI hand over what it has: by itself it does so where a buffer is full. */
#ifndef GDBCUDA_GPU_FLUSHING_H
#define GDBCUDA_GPU_FLUSHING_H

void flushing_begin(void);

/* All that has ended, into the file; waits for it, but not forever: whoever ends may hold what CUPTI waits for. */
void flushing_finish(void);

/* The same, and no more: CUDA is about to go. */
void flushing_end(void);

#endif
