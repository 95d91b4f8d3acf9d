#include "standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tracing;

__attribute__((constructor)) static void read_setting(void)
{
    const char *setting = getenv("GDBCUDA_STANDIN_TRACE");

#ifdef STANDIN_IS_RUNTIME
    tracing = setting && strcmp(setting, "all") == 0;
#else
    tracing = setting && *setting && strcmp(setting, "0") != 0;
#endif
}

void trace(const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* stderr may be closed: the trace is lost, the program goes on */
}
