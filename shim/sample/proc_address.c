/* Reads lines "NAME VERSION FLAGS", asks cuGetProcAddress_v2 for each, and prints what came back:
   NAME VERSION FLAGS: CUresult, symbol status, symbol@object.  The symbol is the object's own name for the address. */
#include <dlfcn.h>
#include <string.h>

#include "driver_sample.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void show_address(void *address)
{
    Dl_info info;
    if (address && dladdr(address, &info) && info.dli_sname)
        printf("%s@%s\n", info.dli_sname, file_name(info.dli_fname));
    else
        printf("%s\n", address ? "unknown" : "NULL");
}

static void ask(const char *name, int version, cuuint64_t flags)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result = cuGetProcAddress_v2(name, &address, version, flags, &status);
    printf("%s %d %d: %d, %d, ", name, version, (int)flags, (int)result, (int)status);
    show_address(address);
}

int main(void)
{
    char name[128];
    int version, flags;
    must("cuInit", cuInit(0));
    while (scanf("%127s %d %d", name, &version, &flags) == 3)
        ask(name, version, (cuuint64_t)flags);
    return 0;
}
