/* A hook library that LD_AUDIT names as well. It has a space of its own, of which the loader tells nobody. */
#include "files.h"

#include <fcntl.h>

enum { LONGEST_LINE = 4096 + 128, OFFSET_IN_LINE = 2 };

struct lines {
    struct bytes_of_file bytes;
    char line[LONGEST_LINE];
};

static const char *audited = ""; /* its file, with no link in its path */

static word address_in(const char *text)
{
    word found = 0;
    for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
        found = found * 16 + (word)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
    return found;
}

/* Nothing in front of it has a slash; in itself it may have blanks. */
static const char *path_in(const char *line)
{
    while (*line && *line != '/')
        line++;
    return line;
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

char next_byte(struct bytes_of_file *from)
{
    if (from->at == from->size) {
        from->at = 0;
        from->size = CALL(read, from->file, from->piece, sizeof from->piece);
        if (FAILED(from->size) || !from->size)
            return from->size = 0;
    }
    return from->piece[from->at++];
}

static int read_line(struct lines *from)
{
    word used = 0;
    for (char byte; (byte = next_byte(&from->bytes)); used += used < sizeof from->line - 1) {
        from->line[used] = byte == '\n' ? 0 : byte;
        if (byte == '\n')
            return 1;
    }
    return 0;
}

/* Where the file begins in memory, but there; 0 where it is nowhere else. */
static word mapped_at(const char *path, word but)
{
    struct lines maps = {.bytes.file = CALL(open, "/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    word found = 0;
    if (FAILED(maps.bytes.file))
        return 0;
    while (!found && read_line(&maps))
        if (!text_order(path_in(maps.line), path) && !address_in(word_of(maps.line, OFFSET_IN_LINE)) &&
            address_in(maps.line) != but)
            found = address_in(maps.line);
    CALL(close, maps.bytes.file);
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
        trace_loaded(trace, address, 0, audited);
}
