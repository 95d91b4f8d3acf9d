#ifndef GDBCUDA_PYTHON_H
#define GDBCUDA_PYTHON_H

#include "trace.h"

#include <sys/uio.h>

#define NONE ((word)-1)
#define GOLDEN 0x9e3779b97f4a7c15ul
#define MOST_PYTHON_PART 512 /* bytes of a frame, and of what is asked of a code object */

/* One row of words as PYTHON_ names them for each version that tells no debugger; generated. */
extern const word python_layouts[][PYTHON_SIZE];
/* Of newer ones: for each of those words which word of the table they publish, plus a number of bytes; generated. */
struct python_published {
    word version, is_free_threaded, words[PYTHON_SIZE], more[PYTHON_SIZE];
};
extern const struct python_published python_published[];
extern const word python_cookie; /* what their table begins with */

struct link_map;
void python_noticed(const struct link_map *object, word *python);
int python_is_wanted(const word *python, const char *name);

extern word gdbcuda_python_v1[PYTHON_SIZE];

/* Who reads: what its own frames lead to (is_own), or those of another thread. */
struct python_reader {
    const word *python, *ring;
    word ticks;
    int is_own;
};
/* A page that was there just now, NONE at first: frames, and often code, lie side by side. Or a copy. */
struct python_part {
    word near;
    char copy[MOST_PYTHON_PART];
};

static inline word word_at(const char *from, word offset)
{
    word found;
    __builtin_memcpy(&found, from + offset, sizeof found);
    return found;
}

/* python_memory.c. So many bytes; 0 where they are not there. The second wants what begins at a whole word. */
const char *python_bytes(struct python_reader *reader, word from, word size, struct python_part *part);
const char *python_seen(struct python_reader *reader, word from, word size, struct python_part *part);
word python_word(struct python_reader *reader, word from);
/* Bytes from the start of the bytecode (3.10: of two), NOWHERE_KNOWN where it is not there. */
word python_position(struct python_reader *reader, const char *frame, word code);
/* Where the characters of a str are, and of how many bytes each is one. */
struct iovec python_text(struct python_reader *reader, word object, word *kind);
struct iovec python_table(struct python_reader *reader, word object);

/* python_frames.c. Those of this thread, or of the one that waits for it. The code of each, then where it is in it;
 * `codes` are where they are. */
word python_frames(struct python_reader *reader, word *frames, word *codes);

/* python.c. What a code object is called here. Another one at the same address has other tables, or begins in another
 * line. */
word python_code_id(const word *python, const char *seen, word code);

#endif
