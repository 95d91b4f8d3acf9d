#include "beside.h"
#include "asking.h"
#include "flushing.h"
#include "records.h"
#include "ring_layout.h"

#include <dlfcn.h>
#include <stdio.h>

static word *told(void)
{
    return dlsym(RTLD_DEFAULT, BESIDE_SYMBOL);
}

int beside_is_taken(void)
{
    const word *found = told();
    return found && __atomic_load_n(&found[BESIDE_WAS_TAKEN], __ATOMIC_SEQ_CST);
}

static void taken(void)
{
    static int is_told; // a profiler may register each time it starts
    if (!records_are_own() || __atomic_exchange_n(&is_told, 1, __ATOMIC_SEQ_CST))
        return;
    asking_stop("the program's own profiler has CUPTI since then: work is told up to there");
    fprintf(stderr, "gdbcuda: the GPU is recorded up to here: the program's own profiler has CUPTI now\n");
}

void beside_begin(void)
{
    word *found = told();
    if (!found)
        return;
    __atomic_store_n(&found[BESIDE_TAKEN], (word)taken, __ATOMIC_SEQ_CST);
    __atomic_store_n(&found[BESIDE_ENDING], (word)flushing_finish, __ATOMIC_SEQ_CST);
}
