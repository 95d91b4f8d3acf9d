/* libgdbcuda-trace.so is loaded twice: once by LD_PRELOAD among the program's libraries, where calls are recorded and
 * unwinders find the code, and once by LD_AUDIT, where the loader says which function it gives to whom. The second
 * works on the memory of the first. Where a hook library audits too there are two of them, in front of it and behind it:
 * one leads to the driver what the hook library is told is the function, the other leads the program to the hook's. */
#ifndef GDBCUDA_TRACE_H
#define GDBCUDA_TRACE_H

#include "dlsym.h"
#include "ring.h"

struct api_function {
    const char *name;
    unsigned short stack, floats, makes_work;
    word outs_count, outs[MOST_OUTS], ins_count, ins[MOST_INS];
};

struct api_answer {
    const char *base;
    unsigned version;
    unsigned short per_thread, function;
};

struct api_vendor {
    const char *name, *layer;
};

extern const struct api_vendor api_vendors[];
extern const char *const api_of_machine[];
extern const char *const rank_names[]; /* variables in which launchers tell a process which of several it is */
extern const struct api_function api_functions[];
extern const struct api_answer api_answers[];
extern const word api_functions_count, api_answers_count, api_version;

/* All zero at the start. */
struct trace {
    char folder[4096]; /* "" where nothing is to go into files */
    char places[1024]; /* layers and libraries, with commas; "" is all */
    word pid;          /* of the process whose file is there, */
    word file;         /* which has this number, from 1 */
    word making;       /* or is being made, */
    word slots;        /* of the recorder that are taken, */
    const char *names[MOST_FUNCTIONS]; /* and by which function, */
    word filtered[MOST_FUNCTIONS];     /* and code that asks before; 0 for none */
    const word *filters;               /* a file; 0 where every call is recorded */
    word filters_size;
    word entries_count;
    word entries[MOST_ENTRIES][ENTRY_SIZE];
    word without_file; /* threads, of process pid */
    word number;       /* of process pid among those that have files here, from 1; */
    word whole;        /* so many have rings of full size; 0 for all */
    word *head;        /* of the file, mapped; in a forked child that has none, of its parent's; 0 for none */
    /* Once no system call may be made: */
    word confined;
    word *mapped; /* the entries in the file, 0 where there is none */
    word *ours;   /* leads to 1, in a forked child to 0 */
    char hook[4096]; /* what the user calls the hook library: its path, "" for none */
    word hook_object;
};
extern struct trace gdbcuda_trace;

enum { LONGEST_TEXT = (ENTRY_SIZE - ENTRY_TEXT) * 8 };

/* files.c. An entry or object is told by its number, from 1; 0 is none. */
void trace_begin(struct trace *trace, const char *folder, const char *places);
void trace_program(char *path, word room);
void trace_move(struct trace *to, const struct trace *from);
word trace_entry(struct trace *trace, word kind, word number, word address, word object, const char *text);
void trace_gone(struct trace *trace, word object);
void trace_without_file(struct trace *trace, word thread);
/* A system call with FOLDER/NAME, and these flags. */
long trace_call(const struct trace *trace, word number, const char *name, word flags);
int trace_may_grow(word size); /* a file; beyond that a write is a signal */
word trace_object(const struct trace *trace, word address);
int trace_can_tell(const struct trace *trace);
void trace_confined(struct trace *trace, int is_worth_a_file); /* makes the last system calls */
int trace_is_wanted(const struct trace *trace, word object, const char *function);
int trace_is_system(const struct trace *trace, word object);
int trace_is_of_machine(const char *file);
void trace_hook(struct trace *trace, const char *path);
word trace_loaded(struct trace *trace, word address, word dynamic, const char *path); /* its entry */

/* places.c is the last two. */

/* filters.c. A file in the folder, mapped to be read; 0 where there is none. */
word folder_file(const struct trace *trace, const char *name, word *size);

extern const char door_begins[16]; /* doors.S */

/* filters.c. Which of a function's calls are recorded: 0 for none. */
void filters_begin(struct trace *trace);
const word *filter_of(const struct trace *trace, const char *name);
word filtered(struct trace *trace, const word *filter, word slot, word entry, word original);

/* named.c. The second: what was asked for under that name, and what the object that has the answer exports it as. */
const struct api_function *function_named(const char *name);
const struct api_function *function_answered(const struct api_function *asked, word address);

/* bind.c */
word recorded(const struct api_function *function, word original, word asker);
word *recorder_state(void);
struct trace *this_trace(void);
void recorder_begins(void);   /* in the calling thread */
word *beside_state(void);
extern word gdbcuda_beside_v1[BESIDE_SIZE];
void recorder_gives_up(void); /* in the calling thread */
word asker_at(word address);
word object_begins(word object);
word object_dynamic(word object); /* its dynamic section; 0 where it is not known */
word original_of(word slot);
word handed_out_for(word slot); /* instead of the function */
struct written *what_is_written(void);
word recorded_at(word address); /* the function that this code records; the address itself for other code */

int may_be_ours(const char *name);
word reference_leads_to(const char *name, word original, word from, word to); /* the last two are objects */

/* written.c: of functions that the recorder knows, and of slots of those who call them. */
enum { MOST_API_SLOTS = 8192 };
struct written {
    word slots_count, staying_slots, staying_objects; /* what the program began with is not unloaded */
    word looked, is_begun, ends[MOST_ENTRIES]; /* of objects, as far as they are known */
    struct api_slot {
        word *at;
        const char *name;
        word object, seen; /* whose slot it is, and what has stood there, 0 where that may be the loader's or a hook's */
    } slots[MOST_API_SLOTS];
    struct written_entry {
        word object, bytes[2]; /* 0 where nobody knows what was there */
    } entries[MOST_FUNCTIONS];
};
void slot_noted(word object, word *at, const char *name);
void slots_unloaded(word object);
void entry_noted(word slot, word original);
void no_slot_is_left(word object, const char *name);
void all_are_to_stay(void);
void look_what_is_written(void);
void look_seldom_what_is_written(void);
__attribute__((weak, visibility("hidden"))) void look_what_is_written_first(void); /* not where a debugger leads calls to the recorder */

/* slots.c */
struct link_map;
void slots_seen(const struct link_map *object, word entry);
void slots_gone(word entry);
void slots_lead_to_recorded(void);

/* handed_out.c: what is called after a call of such a function; 0 for others. */
word handed_out_by(const char *name);

/* code.c */
int is_code(word address);
void code_gone(void); /* of some object */

/* dlsym.c: code that asks this dlsym or dlvsym and answers with what records. */
word answers_recorded(word original);

/* dladdr.c: of functions of the C library. */
word answers_for_recorded(const char *name, word original);

/* beside.c: the first of the environment; the second of functions of the C library and of CUPTI. */
void beside_wanted(const char *folder);
word tells_of_end_and_others(const char *name, word original);

/* environment.c; "" where there is no such variable. The last two note variables of launchers: those that are there, and
 * what functions of the C library make of them. */
const char *value_of(char **environment, const char *name);
word number_in(const char *text);
void ranks_begin(struct trace *trace, char **environment);
word tells_of_ranks(const char *name, word original);

/* told.c: of the environment, until the program has confined itself. executed.c: of the program's space and the C
 * library's functions, which an object has. */
void told_begin(char **environment);
void told_ends(void);
void executed_begin(const struct link_map *object);
word tells_of_executed(const char *name, word original, word to);

/* audited.c: the hook library in LD_AUDIT, which is an object too. The first, of the environment, says where this library
 * is in front of it, and 0 in that one. */
word audited_begin(const char *path, const char *auditors, word here);
void audited_noted(struct trace *trace);

/* seccomp.c: of functions of the C library. */
word tells_of_seccomp(const char *name, word original);
/* The calling thread's calls are recorded on, without what pointers lead to. Where nothing has been recorded yet, it
 * may stay so. */
void confine_from_now(int is_worth_a_file);

/* past_libc.c */
void past_libc_begin(char **environment);
int may_confine_past_libc(const struct link_map *object);

/* 0 for the same text. */
static inline int text_order(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static inline int starts_with(const char *text, const char *start)
{
    while (*start && *text == *start)
        text++, start++;
    return !*start;
}

static inline word length(const char *text)
{
    word found = 0;
    while (text[found])
        found++;
    return found;
}

/* To where the next text goes. */
static inline char *append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

static inline const char *base_name(const char *path)
{
    const char *found = path;
    for (; *path; path++)
        if (*path == '/')
            found = path + 1;
    return found;
}

#endif
