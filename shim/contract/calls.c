#include "contract/contract.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ARGUMENTS = 32, LARGEST = 1024 };

static _Alignas(16) unsigned char values[ARGUMENTS][LARGEST], result[LARGEST];
static void *arguments[ARGUMENTS];

static void read_bytes(const char *hex, unsigned char *bytes)
{
    for (int i = 0; i < LARGEST && is_hex_byte(hex); hex += 2)
        bytes[i++] = hex_byte(hex);
}

static void read_arguments(void)
{
    char *hex;
    for (int i = 0; i < ARGUMENTS && (hex = next_word()); i++) {
        arguments[i] = values[i];
        read_bytes(hex, values[i]);
    }
    memset(result, 0x5a, sizeof result);
}

static const struct contract_function *function; /* that was called last */
static void *address;

void command_call(void)
{
    function = find_function(next_word());
    address = (void *)next_number();
    int before = (int)next_number();
    read_arguments();
    if (!function || !address) {
        answer("no such function\n");
        return;
    }
    errno = before;
    between_step(address);
    function->call(machine_checked(address), arguments, result);
    int after = errno;
    between_end();
    for (size_t i = 0; i < function->result_size; i++)
        answer("%02x", result[i]);
    answer(" %x -", after);
    machine_tell_changes();
    arena_tell_changes();
    answer("\n");
}

static struct {
    const struct contract_function *function;
    void *address, *arguments[ARGUMENTS];
    unsigned char values[ARGUMENTS][LARGEST], result[LARGEST];
} kept;

void call_keep(void)
{
    kept.function = function;
    kept.address = address;
    memcpy(kept.values, values, sizeof values);
    for (int i = 0; i < ARGUMENTS; i++)
        kept.arguments[i] = kept.values[i];
}

void call_kept(void)
{
    if (kept.function && kept.address)
        kept.function->call(kept.address, kept.arguments, kept.result);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void command_again(void)
{
    unsigned long count = next_number(), made = 0, different = 0;
    unsigned char expected[LARGEST];
    const char *seen = getenv("GDBCUDA_STANDIN_SEEN");
    char *before = strdup(seen ? seen : "");
    double end = now() + 1;
    read_bytes(next_word(), expected);
    setenv("GDBCUDA_STANDIN_SEEN", "", 1);
    for (; function && address && made < count && now() < end; made++) {
        function->call(address, arguments, result);
        different += memcmp(expected, result, function->result_size) != 0;
    }
    setenv("GDBCUDA_STANDIN_SEEN", before, 1);
    free(before);
    answer("%lx %lx\n", made, different);
}

/* A request takes seven commands otherwise, and there are tens of thousands. */
void command_handed_out(void)
{
    function = find_function(next_word());
    address = (void *)next_number();
    void *found = NULL;
    const char *name = next_word();
    unsigned long name_at = next_number(), found_at = next_number(), how_at = next_number();
    int how = -1, status = 0;
    read_arguments();
    if (!function || !address || !name || how_at > ARENA_SIZE - sizeof how || found_at > ARENA_SIZE - sizeof found) {
        answer("no such function\n");
        return;
    }
    arena_put(name_at, name, strlen(name) + 1);
    arena_put(found_at, &found, sizeof found);
    arena_put(how_at, &how, sizeof how);
    function->call(address, arguments, result);
    memcpy(&status, result, sizeof status);
    memcpy(&found, arena + found_at, sizeof found);
    memcpy(&how, arena + how_at, sizeof how);
    arena_put(found_at, &found, sizeof found);
    arena_put(how_at, &how, sizeof how);
    answer("%x %x ", (unsigned)status, (unsigned)how);
    tell_place(found);
}
