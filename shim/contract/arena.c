#include "contract/contract.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

unsigned char *arena;
static unsigned char remembered[ARENA_SIZE];

/* Filled, so that zeros that are written there show as well. */
void arena_make(void)
{
    arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0, state = 1; i < ARENA_SIZE; i++) {
        state = state * 1103515245 + 12345;
        arena[i] = (unsigned char)(state >> 16 | 1);
    }
    memcpy(remembered, arena, ARENA_SIZE);
}

/* Its addresses stay taken: who has kept one and uses it is found out. */
void command_renew(void)
{
    enum { PAGE = 1 << 12 };
    unsigned char *another = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(arena + PAGE, ARENA_SIZE - PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    arena = another;
    memcpy(arena, remembered, ARENA_SIZE);
    answer("%lx\n", (unsigned long)arena);
}

/* Since the call before: what was written between two calls is told with the second. */
void arena_tell_changes(void)
{
    enum { PIECE = 1 << 12 };
    for (unsigned i = 0; i < ARENA_SIZE; i++) {
        if (i % PIECE == 0 && memcmp(arena + i, remembered + i, PIECE) == 0) {
            i += PIECE - 1;
            continue;
        }
        if (arena[i] == remembered[i])
            continue;
        answer(" %x:", i);
        for (; i < ARENA_SIZE && arena[i] != remembered[i]; i++)
            answer("%02x", remembered[i] = arena[i]);
    }
}

void arena_put(unsigned long offset, const void *bytes, size_t size)
{
    if (offset > ARENA_SIZE || size > ARENA_SIZE - offset)
        return;
    memcpy(arena + offset, bytes, size);
    memcpy(remembered + offset, bytes, size);
}

void command_poke(void)
{
    unsigned long offset = next_number();
    const char *hex = next_word();
    for (; hex && offset < ARENA_SIZE && is_hex_byte(hex); hex += 2)
        arena[offset] = remembered[offset] = hex_byte(hex), offset++;
    answer("ok\n");
}

void command_peek(void)
{
    unsigned long offset = next_number(), size = next_number();
    for (; size && offset < ARENA_SIZE; size--)
        answer("%02x", arena[offset++]);
    answer(" \n");
}
