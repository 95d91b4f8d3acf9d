/* Messages on stderr, each in one write, so that those of several threads do not mix. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"

static void write_line(const char *format, va_list arguments)
{
    char line[512] = "gdbcuda-hook: ";
    size_t used = strlen(line);
    vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    strcat(line, "\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* stderr is closed: nobody to tell */
}

/* Read each time, so that it can be switched on in the running process. */
static bool logging(void)
{
    const char *value = getenv("GDBCUDA_HOOK_LOG");
    return value && *value && strcmp(value, "0") != 0;
}

void hook_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

void hook_log(const char *format, ...)
{
    va_list arguments;
    if (!logging())
        return;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}
