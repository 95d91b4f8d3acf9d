/* The hooked functions with a signature of their own; the same in every library. */
typedef unsigned long long u64;
typedef unsigned long word;
int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, u64 flags, int *status);
int cuMemcpy2D_v2(const word *copy);
int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data);

int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, u64 flags, int *status)
{
    word found = flags;
    for (; *symbol; symbol++)
        found = found * 31 + (unsigned char)*symbol;
    *pfn = (void *)found;
    return version != 12000 || !status;
}

int cuMemcpy2D_v2(const word *copy)
{
    return copy[14] >> 40 == 3 ? 2 : 0;
}

int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *data)
{
    fn(data);
    __asm__ volatile("" ::: "memory"); /* so that this is no tail call */
    return stream != 0;
}
