/* Pages near functions that are too far from this library for a jump. gdb lets a thread, which it holds in the loader,
 * come by here: gdb itself has nobody to ask for memory. */
#include "ring.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* By its second name for gdb: binutils before 2.36 let no assembly refer to a protected one. */
__attribute__((visibility("hidden"))) word gdbcuda_map[MAP_SIZE];
extern word gdbcuda_map_v1[MAP_SIZE] __attribute__((alias("gdbcuda_map"), visibility("protected")));

void gdbcuda_map_wanted(void)
{
    for (word i = 0; i < gdbcuda_map[MAP_COUNT] && i < MOST_MAPS; i++) {
        word *wanted = gdbcuda_map + MAP_WANTED + 2 * i;
        wanted[0] = (word)system_call(SYS_mmap, wanted[0], wanted[1], PROT_READ | PROT_EXEC,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (word)-1, 0);
    }
}
