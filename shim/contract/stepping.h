/* A thread that is looked at between each two instructions which it has in a hook library: nothing that may happen there
   is left to chance. Instructions of that library alone are stepped through, by the processor's trap flag: when it calls
   somebody, a breakpoint lies where that returns to. */
#ifndef GDBCUDA_STEPPING_H
#define GDBCUDA_STEPPING_H
#include <stdbool.h>

/* False where that cannot be: no library of that path, or one that has traps of its own. */
bool stepping_finds(const char *library);
/* The next calls of this thread are stepped through: until the function returns, or until `stepping_ends` where it is
   NULL. `look` comes before each instruction, and says whether to go on; `is_after_another`: something that another thread
   can see was done just before, a call of somebody's or an instruction that locks. */
void stepping_begins(const void *function, bool (*look)(unsigned long at, bool is_after_another));
/* The same before the instruction at that address alone, once. */
void stepping_waits_at(unsigned long at, bool (*look)(unsigned long at, bool is_after_another));
void stepping_ends(void);
#endif
