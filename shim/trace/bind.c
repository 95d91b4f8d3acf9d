/* What the loader tells and asks a library that audits it: which objects there are, and at each binding of a function,
 * through a PLT or by dlsym, whether that is the address. Nothing is exported for it, and nobody finds another function. */
#include "python.h"

#include <link.h>
#include <sys/syscall.h>

#define ASKED __attribute__((visibility("default")))
#define HERE ((word)__ehdr_start)

enum { THE_PROGRAMS_SPACE = 0, BIND_TO = 1, BIND_FROM = 2 }; /* rtld-audit(7); musl has no names for them */

extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern struct written gdbcuda_written_v1 __attribute__((visibility("protected")));
extern char gdbcuda_doors_v1[] __attribute__((visibility("protected")));

static int has_program, is_begun, may_confine;
static word apart;    /* from this library to the same one that the program has preloaded */
static word in_front; /* where it is in front of a hook library that audits, and has begun everything; 0 in that one */

#define THERE(name) ((__typeof__(&(name)))((word)&(name) + apart))

static void python_begin(void)
{
    gdbcuda_python_v1[PYTHON_NAMES] = folder_file(&gdbcuda_trace, "python", &gdbcuda_python_v1[PYTHON_NAMES_SIZE]);
    gdbcuda_python_v1[PYTHON_SALT] = ticks_now(); /* other processes write of other code at the same address */
}

static void start(char **environment)
{
    word wanted = number_in(value_of(environment, "GDBCUDA_TRACE_LAST")), records = 1;
    word callers = number_in(value_of(environment, "GDBCUDA_TRACE_STACK"));
    if (!gdbcuda_trace.entries_count) /* not the one that is preloaded, which has got what the first knows */
        in_front = audited_begin(value_of(environment, "GDBCUDA_TRACE_AUDIT"), value_of(environment, "LD_AUDIT"), HERE);
    apart = in_front ? in_front - HERE : 0;
    if (in_front)
        return;
    gdbcuda_recorder_v1[STATE_CALLERS] = callers < MOST_CALLERS ? callers : MOST_CALLERS;
    while (records < wanted && records < MOST_RECORDS)
        records <<= 1;
    if (wanted)
        gdbcuda_recorder_v1[STATE_RECORDS] = records;
    gdbcuda_recorder_v1[STATE_SHARED] = number_in(value_of(environment, "GDBCUDA_TRACE_SHARED"));
    if (*value_of(environment, "GDBCUDA_TRACE")) /* who reads the rings in memory, such as a debugger, wants those of all */
        ring_few = FEW_RINGS;
    trace_begin(&gdbcuda_trace, value_of(environment, "GDBCUDA_TRACE"), value_of(environment, "GDBCUDA_TRACE_IN"));
    trace_hook(&gdbcuda_trace, value_of(environment, "GDBCUDA_TRACE_HOOK"));
    gdbcuda_trace.whole = number_in(value_of(environment, "GDBCUDA_TRACE_WHOLE"));
    ranks_begin(&gdbcuda_trace, environment);
    filters_begin(&gdbcuda_trace);
    python_begin();
    past_libc_begin(environment);
    told_begin(environment);
    beside_wanted(value_of(environment, "GDBCUDA_GPU"));
}

/* Before anything of the program is loaded. musl's loader tells constructors nothing, and asks nobody who audits. */
__attribute__((constructor)) static void started(int count, char **words, char **environment)
{
    if (environment == words + count + 1)
        start(environment);
}

ASKED unsigned la_version(unsigned newest)
{
    return newest;
}

static int is_preloaded_here(const struct link_map *object)
{
    return object->l_addr != HERE && (word)object->l_ld - object->l_addr == (word)_DYNAMIC - HERE &&
           !text_order(base_name(object->l_name), "libgdbcuda-trace.so");
}

/* Nothing is recorded yet: the program's libraries are being loaded. */
static void move_to(word there)
{
    apart = there - HERE;
    if (in_front)
        return;
    for (word part = STATE_RECORDS; part <= STATE_CALLERS; part++)
        THERE(gdbcuda_recorder_v1)[0][part] = gdbcuda_recorder_v1[part];
    for (word part = 0; part < PYTHON_SIZE; part++)
        THERE(gdbcuda_python_v1)[0][part] = gdbcuda_python_v1[part];
    trace_move(THERE(gdbcuda_trace), &gdbcuda_trace);
}

/* Whatever confines the program past libc has not run yet. */
static void look_past_libc(const struct link_map *object, const char *name, word entry)
{
    if (!recorder_state()[STATE_CONFINED] && !may_confine && !trace_is_of_machine(name) && may_confine_past_libc(object)) {
        may_confine = 1;
        trace_entry(this_trace(), PAST_LIBC, 0, 0, entry, base_name(name));
    }
    if (may_confine && is_begun && !recorder_state()[STATE_CONFINED])
        confine_from_now(1);
}

/* In front of everything that the program and its libraries do. */
ASKED void la_preinit(uintptr_t *cookie)
{
    (void)cookie;
    if (in_front)
        return;
    is_begun = 1;
    slots_lead_to_recorded();
    all_are_to_stay();
    if (may_confine)
        confine_from_now(1);
}

/* A dlopen begins, a dlclose, or the end of the program: all objects of before are complete. */
ASKED void la_activity(uintptr_t *cookie, unsigned what)
{
    (void)cookie;
    if (!is_begun || what == LA_ACT_CONSISTENT)
        return;
    slots_lead_to_recorded();
    look_what_is_written();
}

/* The program is the first that is noted. What others are told of before it audits too, or is needed by what does. */
ASKED unsigned la_objopen(struct link_map *object, long space, uintptr_t *cookie)
{
    has_program |= !*object->l_name;
    *cookie = 0;
    if (!has_program)
        return 0;
    if (apart == (in_front ? in_front - HERE : 0) && space == THE_PROGRAMS_SPACE && is_preloaded_here(object))
        move_to(object->l_addr);
    char program[LONGEST_TEXT] = "";
    if (!*object->l_name)
        trace_program(program, sizeof program);
    const char *name = *object->l_name ? object->l_name : program;
    *cookie = trace_loaded(THERE(gdbcuda_trace), object->l_addr, (word)object->l_ld, name);
    if (!*object->l_name)
        audited_noted(THERE(gdbcuda_trace));
    if (in_front)
        return BIND_TO | BIND_FROM;
    if (space == THE_PROGRAMS_SPACE)
        python_noticed(object, *THERE(gdbcuda_python_v1));
    look_past_libc(object, name, *cookie);
    if (space == THE_PROGRAMS_SPACE) {
        executed_begin(object);
        slots_seen(object, *cookie);
    }
    return BIND_TO | BIND_FROM;
}

ASKED unsigned la_objclose(uintptr_t *cookie)
{
    if (in_front)
        return 0;
    slots_gone(*cookie);
    slots_unloaded(*cookie);
    trace_gone(THERE(gdbcuda_trace), *cookie);
    code_gone();
    return 0;
}

static void describe(word *words, const struct api_function *function)
{
    words[FUNCTION_STACK] = function->stack;
    words[FUNCTION_FLOATS] = function->floats;
    words[FUNCTION_MAKES_WORK] = function->makes_work;
    words[FUNCTION_OUT_COUNT] = function->outs_count;
    for (word i = 0; i < function->outs_count; i++)
        words[FUNCTION_OUTS + i] = function->outs[i];
    words[FUNCTION_IN_COUNT] = function->ins_count;
    for (word i = 0; i < function->ins_count; i++)
        words[FUNCTION_INS + i] = function->ins[i];
    words[FUNCTION_AFTER] = handed_out_by(function->name);
    words[FUNCTION_PYTHON] = (word)python_is_wanted(*THERE(gdbcuda_python_v1), function->name);
}

static word door(word slot)
{
    return (word)*THERE(gdbcuda_doors_v1) + slot * DOOR_SIZE;
}

word handed_out_for(word slot)
{
    word filter = this_trace()->filtered[slot];
    return filter ? filter : door(slot);
}

/* The code that records calls of the function at that address, or the address itself where it cannot be or an object
 * gets what is its own. */
word recorded(const struct api_function *function, word original, word asker)
{
    word *functions = *THERE(gdbcuda_functions_v1);
    struct trace *trace = THERE(gdbcuda_trace);
    word object = trace_object(trace, original), records_all = handed_out_by(function->name);
    const word *filter = records_all ? 0 : filter_of(trace, function->name);
    if (!original || !trace_can_tell(trace) || recorded_at(original) != original || object == asker ||
        !(trace_is_wanted(trace, object, function->name) || records_all) || (trace->filters && !filter && !records_all))
        return original;
    word taken = trace->slots < MOST_FUNCTIONS ? trace->slots : MOST_FUNCTIONS;
    for (word i = 0; i < taken; i++)
        if (functions[i * FUNCTION_SIZE + FUNCTION_ORIGINAL] == original && trace->names[i] == function->name)
            return handed_out_for(i);
    word slot = __atomic_fetch_add(&trace->slots, 1, __ATOMIC_SEQ_CST);
    if (slot >= MOST_FUNCTIONS) {
        no_slot_is_left(object, function->name);
        return original;
    }
    describe(functions + slot * FUNCTION_SIZE, function);
    trace->names[slot] = function->name;
    trace_entry(trace, A_FUNCTION, slot, original, object, function->name);
    __atomic_store_n(&functions[slot * FUNCTION_SIZE + FUNCTION_ORIGINAL], original, __ATOMIC_SEQ_CST);
    entry_noted(slot, original); /* threads that look at it do not wait for who binds */
    return filter ? filtered(trace, filter, slot, door(slot), original) : door(slot);
}

/* Whose door is there; MOST_FUNCTIONS for none. */
static word slot_at(const struct trace *trace, word address)
{
    word offset = address - door(0), slot = 0;
    if (offset / DOOR_SIZE < MOST_FUNCTIONS)
        return offset % DOOR_SIZE ? MOST_FUNCTIONS : offset / DOOR_SIZE;
    if (!address || !trace->filters) /* 0 marks those that no code asks before */
        return MOST_FUNCTIONS;
    while (slot < MOST_FUNCTIONS && trace->filtered[slot] != address)
        slot++;
    return slot;
}

word original_of(word slot)
{
    return (*THERE(gdbcuda_functions_v1))[slot * FUNCTION_SIZE + FUNCTION_ORIGINAL];
}

word recorded_at(word address)
{
    word slot = slot_at(THERE(gdbcuda_trace), address);
    word original = slot < MOST_FUNCTIONS ? original_of(slot) : 0;
    return original ? original : address;
}

struct written *what_is_written(void)
{
    return THERE(gdbcuda_written_v1);
}

word *recorder_state(void)
{
    return *THERE(gdbcuda_recorder_v1);
}

word *beside_state(void)
{
    return *THERE(gdbcuda_beside_v1);
}

struct trace *this_trace(void)
{
    return THERE(gdbcuda_trace);
}

void recorder_begins(void)
{
    THERE(ring_here)();
}

void recorder_gives_up(void)
{
    THERE(ring_give_up)();
}

word asker_at(word address)
{
    return trace_object(THERE(gdbcuda_trace), address);
}

word object_dynamic(word object)
{
    return object ? THERE(gdbcuda_trace)[0].entries[object - 1][ENTRY_OBJECT] : 0;
}

word object_begins(word object)
{
    return object ? THERE(gdbcuda_trace)[0].entries[object - 1][ENTRY_ADDRESS] : 0;
}

/* By the first letter: of the API, dlsym and dladdr, prctl and putenv, syscall and setenv, exec and posix_spawn. */
int may_be_ours(const char *name)
{
    return starts_with(name, "exec") || starts_with(name, "fexec") ||
           name[0] == 'c' || name[0] == 'n' || name[0] == 'd' || name[0] == 'p' || name[0] == 's' ||
           (name[0] == '_' && name[1] == '_' && name[2] == 'c');
}

word reference_leads_to(const char *name, word original, word from, word to)
{
    if (from == to)
        return original;
    word told = tells_of_end_and_others(name, original);
    if (told != original || !may_be_ours(name))
        return told;
    if (trace_is_system(THERE(gdbcuda_trace), to)) {
        told = name[0] == 'd' ? answers_for_recorded(name, original) : tells_of_seccomp(name, original);
        told = told != original ? told : tells_of_ranks(name, original);
        return told != original ? told : tells_of_executed(name, original, to);
    }
    if (!text_order(name, "dlsym") || !text_order(name, "dlvsym"))
        return answers_recorded(original);
    const struct api_function *function = function_named(name);
    return function ? recorded(function, original, from) : original;
}

/* What a hook library that audits has given for it. */
static word behind_auditor(const char *name, word given, word from, word to)
{
    const struct api_function *function = from != to && may_be_ours(name) ? function_named(name) : 0;
    return function ? recorded(function, given, from) : given;
}

/* Every reference of every object that has a PLT comes by here. */
ASKED uintptr_t la_symbind64(ElfW(Sym) *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                             const char *name)
{
    (void)index;
    if (in_front)
        return behind_auditor(name, symbol->st_value, *from, *to);
    if (*flags & LA_SYMB_DLSYM) {
        slots_lead_to_recorded();
        look_seldom_what_is_written();
    }
    return reference_leads_to(name, symbol->st_value, *from, *to);
}

/* For what `ld --wrap` has led to a wrapper (shim/wrap). */
__attribute__((visibility("protected"))) word gdbcuda_wrapped_v1(const char *name, word original)
{
    const struct api_function *function = function_named(name);
    return function ? recorded(function, original, 0) : original;
}
