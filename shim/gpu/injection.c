/* What libcuda calls in a library that CUDA_INJECTION64_PATH names, while it is initialized. */
#include "asking.h"
#include "beside.h"
#include "causes.h"
#include "cupti_library.h"
#include "flushing.h"
#include "records.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER "GDBCUDA_GPU" /* where the records go */
#define CALLS "GDBCUDA_GPU_CALLS" /* 0: not what CUPTI tells of calls, by which work is joined to them */

static void complain(const char *why)
{
    fprintf(stderr, "gdbcuda: the GPU is not recorded: %s\n", why);
}

/* Who traces this process, as the kernel names it. */
static int is_under(const char *debugger)
{
    char line[256], path[64], name[64] = "";
    int tracer = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "TracerPid: %d", &tracer) != 1)
        ;
    if (status)
        fclose(status);
    snprintf(path, sizeof path, "/proc/%d/comm", tracer);
    FILE *comm = tracer ? fopen(path, "re") : 0;
    if (comm && !fgets(name, sizeof name, comm))
        name[0] = 0;
    if (comm)
        fclose(comm);
    return !strncmp(name, debugger, strlen(debugger));
}

/* It says so in the driver itself, whatever it is called. */
static int is_under_cuda_gdb(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const uint32_t *flag = driver ? dlsym(driver, "cudbgIpcFlag") : 0;
    return (flag && *flag) || is_under("cuda-gdb");
}

static int begin(const char *folder, char *why, unsigned long room)
{
    uint32_t version = 0;
    if (is_under_cuda_gdb()) {
        snprintf(why, room, "under cuda-gdb CUPTI tells nothing; plain gdb can be on the program");
        return 0;
    }
    if (beside_is_taken()) {
        snprintf(why, room, "the program's own profiler has CUPTI already");
        return 0;
    }
    if (!cupti_load(why, room))
        return 0;
    cupti.cuptiGetVersion(&version);
    int has_causes = causes_begin();
    if (!records_begin(folder, version, CUPTI_API_VERSION, (word)has_causes)) {
        snprintf(why, room, "no file can be made in %s", folder);
        return 0;
    }
    const char *calls = getenv(CALLS);
    if (!asking_begin(!calls || *calls != '0', why, room)) {
        records_remark(why);
        return 0;
    }
    beside_begin();
    flushing_begin();
    atexit(flushing_end);
    return 1;
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    static int is_begun;
    char why[512] = "";
    const char *folder = getenv(FOLDER);
    if (is_begun || !folder || !*folder)
        return 1;
    is_begun = 1;
    if (!begin(folder, why, sizeof why)) {
        causes_end();
        complain(why);
    }
    return 1;
}
