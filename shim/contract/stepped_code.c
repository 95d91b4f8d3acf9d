#include "contract/stepped_code.h"

#if defined __x86_64__
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BREAKPOINT = 0xcc, LOCK = 0xf0, XCHG = 0x87, REX = 0x40, IN_REGISTERS = 0xc0 }; /* bytes of instructions */
enum { PREFIX_OF_SIZE = 0x66, PREFIXES = 3, LIBRARY_RANGES = 4 };

struct range {
    unsigned long start, end;
};
static struct range library_code[LIBRARY_RANGES], own_code;
static struct breakpoint {
    unsigned long at, was_at; /* 0 for none */
    unsigned char replaced;
} planted[2];

static bool is_in(const struct range *range, unsigned long at)
{
    return range->start <= at && at < range->end;
}

bool is_in_library(unsigned long at)
{
    bool found = false;
    for (int i = 0; i < LIBRARY_RANGES; i++)
        found |= is_in(&library_code[i], at);
    return found;
}

static void note_code(const char *line, const char *library)
{
    struct range found;
    char path[4096] = "", kind[8] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095[^\n]", &found.start, &found.end, kind, path) != 4 || kind[2] != 'x')
        return;
    if (is_in(&found, (unsigned long)note_code))
        own_code = found;
    for (int i = 0; strcmp(path, library) == 0 && i < LIBRARY_RANGES; i++)
        if (!library_code[i].end) {
            library_code[i] = found;
            break;
        }
}

bool stepped_code_is_found(const char *library)
{
    static char line[8192];
    FILE *maps = fopen("/proc/self/maps", "re");
    memset(library_code, 0, sizeof library_code);
    while (maps && fgets(line, sizeof line, maps))
        note_code(line, library);
    if (maps)
        fclose(maps);
    return library_code[0].end != 0;
}

/* The kernel writes where the program may not. */
static bool put_code(unsigned long at, unsigned char byte)
{
    int memory = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
    bool is_put = memory >= 0 && pwrite(memory, &byte, 1, (off_t)at) == 1;
    if (memory >= 0)
        close(memory);
    return is_put;
}

void take_away(void)
{
    for (int i = 0; i < 2; i++) {
        if (planted[i].at)
            put_code(planted[i].at, planted[i].replaced);
        planted[i].at = 0;
    }
}

bool put_breakpoint(unsigned long at)
{
    struct breakpoint *one = &planted[planted[0].at != 0];
    one->replaced = *(unsigned char *)at;
    one->was_at = at;
    one->at = put_code(at, BREAKPOINT) ? at : 0;
    return one->at != 0;
}

bool was_planted(unsigned long at)
{
    return at == planted[0].was_at || at == planted[1].was_at;
}

bool is_in_own_code(unsigned long at)
{
    return is_in(&own_code, at);
}

bool is_code(unsigned long at)
{
    return is_in_library(at) || is_in_own_code(at);
}

unsigned length_of_jump(const unsigned char *at)
{
    enum { SHORT = 0x70, TWO_BYTES = 0x0f, NEAR = 0x80, JMP_SHORT = 0xeb, JMP_NEAR = 0xe9 };
    if ((*at & 0xf0) == SHORT || *at == JMP_SHORT)
        return 2;
    return *at == JMP_NEAR ? 5 : *at == TWO_BYTES && (at[1] & 0xf0) == NEAR ? 6 : 0;
}

bool locks(const unsigned char *at)
{
    for (int i = 0; i < PREFIXES && (*at == PREFIX_OF_SIZE || (*at & 0xf0) == REX); i++)
        at++;
    return *at == LOCK || ((*at | 1) == XCHG && at[1] < IN_REGISTERS);
}
#endif
