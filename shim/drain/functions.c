/* How many words a function's calls have, by what its process has written of it. */
#include "drain.h"

#include <fcntl.h>
#include <unistd.h>

enum { HEADER = RING_HEADER * sizeof(word) };

static word words_of(const word *wanted, word count)
{
    word found = 0;
    for (word i = 0; i < count; i++)
        found += 1 + ((wanted[i] >> 8 & 0xffffff) + sizeof(word) - 1) / sizeof(word);
    return found;
}

static struct shape shape_by_name(const char *name)
{
    const struct api_function *found = function_named(name);
    struct shape all = {1, STACK_WORDS, FLOATS, OUT_WORDS, IN_WORDS};
    if (!found)
        return all;
    word outs = words_of(found->outs, found->outs_count), ins = words_of(found->ins, found->ins_count);
    return (struct shape){1, (unsigned char)(found->stack < STACK_WORDS ? found->stack : STACK_WORDS),
                          (unsigned char)(found->floats < FLOATS ? found->floats : FLOATS),
                          (unsigned char)(outs < OUT_WORDS ? outs : OUT_WORDS),
                          (unsigned char)(ins < IN_WORDS ? ins : IN_WORDS)};
}

static void learn(struct traced_process *process)
{
    char name[2 * LONGEST_NAME];
    word entry[ENTRY_SIZE + 1] = {0};
    name_with(name, process->name, ".process");
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    for (word i = 0; file >= 0 && i < MOST_ENTRIES; i++) {
        if (pread(file, entry, ENTRY_SIZE * sizeof(word), (off_t)(HEADER + i * ENTRY_SIZE * sizeof(word))) <= 0)
            break;
        if (entry[ENTRY_KIND] == A_FUNCTION && entry[ENTRY_NUMBER] < MOST_FUNCTIONS)
            process->shapes[entry[ENTRY_NUMBER]] = shape_by_name((const char *)(entry + ENTRY_TEXT));
    }
    if (file >= 0)
        close(file);
}

/* Of a function that nothing was written of (the disk was full) all words are kept. */
struct shape shape_of(struct traced_process *process, word function)
{
    struct shape *found = &process->shapes[function % MOST_FUNCTIONS];
    if (!found->is_known)
        learn(process);
    if (!found->is_known)
        *found = shape_by_name("");
    return *found;
}
