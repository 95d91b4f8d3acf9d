/* A hook library that LD_AUDIT names as well. It has a space of its own, of which the loader tells nobody. */
#include "files.h"

#include <fcntl.h>

enum { LONGEST_LINE = 4096 + 128, OFFSET_IN_LINE = 2 };

struct lines {
    long file, size, at;
    char piece[1024], line[LONGEST_LINE];
};

static const char *audited = ""; /* its file, with no link in its path */

static word address_in(const char *text)
{
    word found = 0;
    for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        found = found * 16 + (word)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return found;
}

/* Behind so many blanks; behind the last of them if there are less. */
static const char *word_of(const char *line, word number)
{
    const char *found = line;
    for (; *line && number; line++)
        if (*line == ' ') {
            found = line + 1;
            number--;
        }
    return found;
}

static int read_line(struct lines *from)
{
    for (word used = 0;;) {
        if (from->at == from->size) {
            from->at = 0;
            from->size = CALL(read, from->file, from->piece, sizeof from->piece);
            if (FAILED(from->size) || !from->size)
                return 0;
        }
        char next = from->piece[from->at++];
        from->line[used] = next == '\n' ? 0 : next;
        if (next == '\n')
            return 1;
        used += used < sizeof from->line - 1;
    }
}

/* Where the file begins in memory, but there; 0 where it is nowhere else. */
static word mapped_at(const char *path, word but)
{
    struct lines maps = {.file = CALL(open, "/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    word found = 0;
    if (FAILED(maps.file))
        return 0;
    while (!found && read_line(&maps))
        if (!text_order(word_of(maps.line, LONGEST_LINE), path) && !address_in(word_of(maps.line, OFFSET_IN_LINE)) &&
            address_in(maps.line) != but)
            found = address_in(maps.line);
    CALL(close, maps.file);
    return found;
}

word audited_begin(const char *path, const char *auditors, word here)
{
    char own[LONGEST_LINE];
    word size = 0;
    audited = path;
    for (; auditors[size] && auditors[size] != ':' && size < sizeof own - 1; size++)
        own[size] = auditors[size];
    own[size] = 0;
    return *audited ? mapped_at(own, here) : 0;
}

void audited_noted(struct trace *trace)
{
    word address = *audited ? mapped_at(audited, 0) : 0;
    if (address)
        trace_entry(trace, AN_OBJECT, 0, address, 0, audited);
}
