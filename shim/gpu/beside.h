/* What the tracer in the process (shim/trace) tells of: the end of the program, and others who register with CUPTI. */
#ifndef GDBCUDA_GPU_BESIDE_H
#define GDBCUDA_GPU_BESIDE_H

/* Somebody else has CUPTI already. */
int beside_is_taken(void);

void beside_begin(void);

#endif
