/* torture (reserves): Detours of the program's own (as frida, UCX and other hook libraries make them): over the entry of a
 * function goes a jump to a body of its own, for good, or with the old bytes put back. */
#include <sys/mman.h>
#include <stdint.h>

static word patch_calls;

static int patch_body(u64 *p, word n)
{
    patch_calls++;
    return mix(p, n);
}

static void patch_write(unsigned char *place, const unsigned char *bytes)
{
    uintptr_t page = (uintptr_t)place & ~4095ul;
    mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(place, bytes, 12);
    mprotect((void *)page, 8192, PROT_READ | PROT_EXEC);
}

/* For who judges a program that dies there: gdb may have a breakpoint over them, and something else below it. */
static void patch_back(unsigned char *place, const unsigned char *before)
{
    char bytes[12 * 3 + 1];
    for (size_t i = 0; i < 12; i++)
        snprintf(bytes + i * 3, 4, " %02x", before[i]);
    say("# put back %#lx:%s", (word)place, bytes);
    patch_write(place, before);
}

static void part_patches(struct dice *dice)
{
    unsigned char *place = (unsigned char *)functions[RESERVED].call, jump[12] = {0x48, 0xb8}, before[12];
    void *body = (void *)patch_body;
    int for_good = (int)(roll(dice) & 1);
    memcpy(jump + 2, &body, 8);
    jump[10] = 0xff;
    jump[11] = 0xe0;
    patch_calls = 0;
    say("# patched %#lx", (word)place);
    for (int i = 0; i < (for_good ? 1 : 6); i++) {
        memcpy(before, place, 12);
        patch_write(place, jump);
        for (int k = 0; k < 60; k++) {
            word n = size_of(dice, 1);
            count(RESERVED, ALPHA, n);
            checked(ALPHA, RESERVED, roll(dice), n);
            invoke(dice, 1);
        }
        if (!for_good)
            patch_back(place, before);
        for (int k = 0; k < 20; k++)
            invoke(dice, 1);
    }
    say("= patches: %s, own body called %s", for_good ? "kept" : "taken back", patch_calls >= 60 ? "yes" : "no");
}
