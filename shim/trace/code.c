/* Whether code is at an address: what hands out functions may answer with a number of its own, or a mark that can be read. */
#include "files.h"

#include <fcntl.h>
#include <sys/uio.h>

enum { RANGES = 16, COUNT_BITS = 20 }; /* an address has 56 bits at most, 44 of them its page's */

/* Each is one word, for others look meanwhile: its first page, then how many it has; 0 for none. */
static word found[RANGES];

/* Up to what is no digit, which is passed. */
static word number(struct bytes_of_file *from)
{
    word value = 0;
    for (char digit; (digit = next_byte(from)), (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');)
        value = value * 16 + (word)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    return value;
}

/* One that has no such word is looked for again each time. */
static void keep(word begin, word end)
{
    word page = begin / PAGE, count = (end - begin) / PAGE, range = page << COUNT_BITS | count;
    if (page >> (64 - COUNT_BITS) || count >> COUNT_BITS)
        return;
    for (word i = 0; i < RANGES; i++) {
        word there = 0;
        if (__atomic_compare_exchange_n(&found[i], &there, range, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) || there == range)
            return;
    }
}

static int is_kept(word address)
{
    for (word i = 0; i < RANGES; i++) {
        word range = __atomic_load_n(&found[i], __ATOMIC_RELAXED);
        if (address / PAGE - (range >> COUNT_BITS) < (range & ((1ul << COUNT_BITS) - 1)))
            return 1;
    }
    return 0;
}

/* A line is BEGIN-END rwxp and more. */
static int is_mapped_as_code(struct bytes_of_file *maps, word address)
{
    word begin, end;
    while ((begin = number(maps), end = number(maps))) {
        next_byte(maps), next_byte(maps);
        char byte = next_byte(maps);
        if (address >= begin && address < end) {
            if (byte == 'x')
                keep(begin, end);
            return byte == 'x';
        }
        while (byte && byte != '\n')
            byte = next_byte(maps);
    }
    return 0;
}

static int is_readable(word address)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)address, 1};
    return CALL(process_vm_readv, CALL(getpid, 0), &here, 1, &there, 1, 0) == 1;
}

int is_code(word address)
{
    if (is_kept(address))
        return 1;
    if (recorder_state()[STATE_CONFINED])
        return 0;
    struct bytes_of_file maps = {.file = CALL(open, "/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    if (FAILED(maps.file)) /* no file is left, or no /proc */
        return asker_at(address) && is_readable(address);
    int is_it = is_mapped_as_code(&maps, address);
    CALL(close, maps.file);
    return is_it;
}

void code_gone(void)
{
    for (word i = 0; i < RANGES; i++)
        __atomic_store_n(&found[i], 0, __ATOMIC_SEQ_CST);
}
