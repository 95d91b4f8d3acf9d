/* The files of a trace folder. No call of libc makes one: it may be within a call of the program's. */
#ifndef GDBCUDA_FILES_H
#define GDBCUDA_FILES_H

#include "trace.h"

#include <sys/syscall.h>

#define CALL(name, ...) system_call_6(SYS_##name, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define system_call_6(number, a, b, c, d, e, f, ...) \
    system_call(number, (word)(a), (word)(b), (word)(c), (word)(d), (word)(e), (word)(f))

/* Of a file of the kernel's, from its beginning. Small, for it may be on the stack of a caller that has little. */
struct bytes_of_file {
    long file, size, at;
    char piece[256];
};

char next_byte(struct bytes_of_file *from); /* audited.c; 0 at the end */

struct file_name {
    char text[80];
};

/* files.c. PID-FILE.process, PID-FILE-THREAD.ring */
struct file_name trace_name(const struct trace *trace, word file, word thread);
long trace_created(const struct trace *trace, const char *name);

/* No SIGBUS later where the disk is full, nor SIGXFSZ. */
int trace_has_room(long file, word size);

/* The calling process's file, which a forked child does not have yet; 0 if there is none. */
int trace_process_file(struct trace *trace);

#endif
