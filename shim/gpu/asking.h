/* What CUPTI is asked to tell, from the begin to the end. */
#ifndef GDBCUDA_GPU_ASKING_H
#define GDBCUDA_GPU_ASKING_H

/* Asks for all that it can tell; what it refuses is a remark in the file. 0 with a line where it tells nothing. */
int asking_begin(int with_calls, char *why, unsigned long room);

/* What has ended, into the file. Another thread may do so. */
void asking_flush(void);

/* The same for all, with the end of the file: the program ends. */
void asking_finish(void);

/* CUPTI is as it would be without us: somebody else wants it. */
void asking_stop(const char *why);

#endif
