/* GDBCUDA_MEMORY_LIMIT=4g: how much of each device a process may have. Read each time, so that it can be changed in
   the running process. */
#include <stdlib.h>
#include <string.h>

#include "limit.h"

static size_t used[MOST_DEVICES];

static int shift_of(const char *suffix)
{
    static const char letters[] = "kmgt";
    const char *letter = *suffix ? strchr(letters, *suffix | 0x20) : NULL;
    if (*suffix == '\0')
        return 0;
    return letter && suffix[1] == '\0' ? 10 * (int)(letter - letters + 1) : -1;
}

static void complain_once(const char *text)
{
    static bool complained;
    if (!__atomic_exchange_n(&complained, true, __ATOMIC_RELAXED))
        hook_say("GDBCUDA_MEMORY_LIMIT=%.80s is no size (write 4g, 512m, or bytes): no limit", text);
}

size_t limit_bytes(void)
{
    const char *text = getenv("GDBCUDA_MEMORY_LIMIT");
    if (!text || !*text)
        return 0;
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = end == text || *text == '-' ? -1 : shift_of(end);
    if (shift < 0 || number > SIZE_MAX >> shift)
        complain_once(text);
    return shift < 0 || number > SIZE_MAX >> shift ? 0 : (size_t)number << shift;
}

size_t limit_total(size_t real_total)
{
    size_t limit = limit_bytes();
    return limit && limit < real_total ? limit : real_total;
}

static bool is_counted(CUdevice device)
{
    return device >= 0 && device < MOST_DEVICES;
}

size_t limit_used(CUdevice device)
{
    return is_counted(device) ? __atomic_load_n(&used[device], __ATOMIC_RELAXED) + graph_bytes(device) : 0;
}

/* Through the exported function, as hook libraries do: this call passes our own wrapper, or that of a hook library
   in front of us. */
CUdevice current_device(void)
{
    CUdevice device;
    return cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* Claimed before the driver is asked: two threads cannot both take what only one may have. */
bool limit_claim(CUdevice device, size_t bytes)
{
    size_t limit = limit_bytes();
    if (!is_counted(device))
        return true;
    size_t before = __atomic_fetch_add(&used[device], bytes, __ATOMIC_RELAXED) + (limit ? graph_bytes(device) : 0);
    if (!limit || (before <= limit && bytes <= limit - before))
        return true;
    limit_give_back(device, bytes);
    hook_log("refused %zu bytes on device %d: %zu of %zu are used", bytes, device, before, limit);
    return false;
}

void limit_give_back(CUdevice device, size_t bytes)
{
    if (is_counted(device))
        __atomic_fetch_sub(&used[device], bytes, __ATOMIC_RELAXED);
}
