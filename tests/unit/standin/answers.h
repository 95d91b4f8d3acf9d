/* For the programs that ask a library many questions and print the answers by name: run over the real libraries once,
 * and over the stand-in in the tests, they must print the same. */
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

#ifndef PRINT
#define PRINT(what, format, value) printf("%-78s " format "\n", what, value)
#endif

/* What is asked, and the error it answers with. `NAME_OF` turns the status into its name. */
#define ASK(call) PRINT(#call, "%s", NAME_OF(call))

/* A number or a truth that must be the same everywhere. */
#define SHOW(value) PRINT(#value, "%lld", (long long)(value))
