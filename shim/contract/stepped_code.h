/* The code that `stepping` goes through: where it is, which instructions are there, and two breakpoints of our own in it. */
#ifndef GDBCUDA_STEPPED_CODE_H
#define GDBCUDA_STEPPED_CODE_H
#include <stdbool.h>

/* Looks for the library of that path, and for the code that we are part of. */
bool stepped_code_is_found(const char *library);
bool is_in_library(unsigned long at);
bool is_in_own_code(unsigned long at);
bool is_code(unsigned long at); /* of either */

bool put_breakpoint(unsigned long at);
void take_away(void); /* both breakpoints */
/* Of any thread, which may find it taken away by now. */
bool was_planted(unsigned long at);

unsigned length_of_jump(const unsigned char *at); /* 0 where no jump is */
bool locks(const unsigned char *at);
#endif
