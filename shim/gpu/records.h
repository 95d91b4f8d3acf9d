/* The file of a process's records: as gdbcuda/gpu/gpu_layout.py describes it. */
#ifndef GDBCUDA_GPU_RECORDS_H
#define GDBCUDA_GPU_RECORDS_H

#include "gpu_layout.h"

#include <stddef.h>
#include <stdint.h>

typedef uint64_t word;

/* Makes FOLDER/PID-N.gpu. 0 where it cannot be made. */
int records_begin(const char *folder, word cupti, word built, word has_causes);

/* Of the calling thread alone, up to the unlock. */
void records_lock(void);
void records_unlock(void);

/* words[0] is filled in. A record that there is no room for is counted, and told when there is room again. */
void records_add(word kind, const word *words, word size);
void records_add_text(word kind, const word *words, word size, const char *text);
word records_name(const char *name); /* its number; 0 for none */
void records_dropped(word count);
void records_write(void); /* what has been added, into the file */

/* One line for the user, into the file; not under the lock. */
void records_remark(const char *text);

int records_are_own(void); /* not those of the process that this one was forked from */
word records_time(int clock);

#endif
