/* gdbcuda-drain keeps all calls of the processes that gdbcuda trace --all has started: what they write into their rings
 * it appends to files. Nobody waits for it: what it comes too late for is missing, which the numbers of the others tell. */
#ifndef GDBCUDA_DRAIN_H
#define GDBCUDA_DRAIN_H

#include "trace.h"

#include <sys/types.h>

#define LONGEST_NAME 64
#define MOST_OPEN 64 /* calls of a thread inside each other whose returns are waited for */

/* As it is in a ring: what it has beside its front is one behind the other. */
struct call {
    word front[FRONT_SIZE], more[RECORD_SIZE];
};

/* The calls of one thread go from its ring to a file, which is sound up to SIZE. */
struct drained {
    struct drained *following;
    char name[LONGEST_NAME];
    pid_t pid;
    const word *ring;
    word records, next; /* the position that is read next; calls before it may be open, */
    word skipped_to;    /* and where the last ones that were left out end */
    word open_count;
    struct call open[MOST_OPEN];
    int calls, is_over, had_no_room;
    word size, waiting_size;
    char *waiting;
};

/* rings.c */
struct drained *ring_opened(const char *file_name);
int drain(struct drained *ring); /* whether there was anything */
void drain_last(struct drained *ring); /* its process has ended */

/* calls.c */
int calls_created(const struct drained *ring);
int calls_have_room(const struct drained *ring);
void calls_add(struct drained *ring, const struct call *call, int has_returned);
int calls_write(struct drained *ring);

/* processes.c */
void process_seen(pid_t pid);
void process_of_file_seen(pid_t pid, const char *file_name); /* of the folder, which it has mapped */
int has_ended(pid_t pid);
int all_have_ended(const char *folder_path);

extern int folder; /* that all is in */
void name_with(char *to, const char *name, const char *ending);

#endif
