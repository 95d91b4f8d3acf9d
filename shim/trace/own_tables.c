/* The library that audits works on the tables of the one that the program has preloaded. Of an address space that is
 * limited (ulimit -v, -d) the program has its own ones back: 5 MB. */
#include "trace.h"

#include <sys/syscall.h>

static void give_back(const void *from, word size)
{
    word begin = ((word)from + PAGE - 1) & ~(word)(PAGE - 1), end = ((word)from + size) & ~(word)(PAGE - 1);
    system_call(SYS_munmap, begin, end - begin, 0, 0, 0, 0);
}

void own_tables_given_back(void)
{
    give_back(gdbcuda_functions_v1, sizeof gdbcuda_functions_v1);
    give_back(gdbcuda_trace.entries, sizeof gdbcuda_trace.entries);
}
