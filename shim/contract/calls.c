#include "contract/contract.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENTS = 32, LARGEST = 1024 };

static void read_bytes(const char *hex, unsigned char *bytes)
{
    unsigned byte;
    for (int i = 0; i < LARGEST && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        bytes[i++] = (unsigned char)byte;
}

void command_call(void)
{
    static _Alignas(16) unsigned char values[ARGUMENTS][LARGEST], result[LARGEST];
    void *arguments[ARGUMENTS];
    const struct contract_function *function = find_function(next_word());
    void *address = (void *)next_number();
    int before = (int)next_number();
    char *hex;
    for (int i = 0; i < ARGUMENTS && (hex = next_word()); i++) {
        arguments[i] = values[i];
        read_bytes(hex, values[i]);
    }
    if (!function || !address) {
        answer("no such function\n");
        return;
    }
    memset(result, 0x5a, sizeof result);
    errno = before;
    function->call(machine_checked(address), arguments, result);
    int after = errno;
    for (size_t i = 0; i < function->result_size; i++)
        answer("%02x", result[i]);
    answer(" %x -", after);
    machine_tell_changes();
    arena_tell_changes();
    answer("\n");
}
