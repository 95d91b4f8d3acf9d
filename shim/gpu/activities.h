/* What CUPTI tells, as our records. */
#ifndef GDBCUDA_GPU_ACTIVITIES_H
#define GDBCUDA_GPU_ACTIVITIES_H

/* Asks CUPTI for all that it can tell; what it refuses is a remark in the file. 0 with a line where it tells nothing. */
int activities_begin(int with_calls, char *why, unsigned long room);

/* All that has ended, into the file. */
void activities_end(void);

#endif
