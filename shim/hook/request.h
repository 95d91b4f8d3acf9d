/* One request to dlsym or dlvsym: who answers. */
#ifndef GDBCUDA_REQUEST_H
#define GDBCUDA_REQUEST_H

#include "hook.h"

enum answer { ANSWER_NEXT, ANSWER_WRAPPER, ANSWER_NOTHING };

bool is_pseudo(void *handle); /* RTLD_DEFAULT and RTLD_NEXT are no libraries */
enum answer decide(void *handle, const char *symbol, const char *version);
void *nothing(const char *symbol); /* NULL, and dlerror() says that the symbol was not found */

#endif
