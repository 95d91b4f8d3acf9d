#include "contract/contract.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *said;
static char *rest;

char *first_word(char *line)
{
    return strtok_r(line, " \n", &rest);
}

char *next_word(void)
{
    return strtok_r(NULL, " \n", &rest);
}

char *rest_of_line(void)
{
    char *found = rest ? rest : "";
    found[strcspn(found, "\n")] = 0;
    return found;
}

unsigned long next_number(void)
{
    char *word = next_word();
    return word ? strtoul(word, NULL, 16) : 0;
}

bool is_hex_byte(const char *hex)
{
    return isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1]);
}

static unsigned digit(char one)
{
    return one <= '9' ? (unsigned)(one - '0') : (unsigned)((one | 0x20) - 'a' + 10);
}

unsigned char hex_byte(const char *hex)
{
    return (unsigned char)(digit(hex[0]) << 4 | digit(hex[1]));
}

bool answers_go_to(int descriptor)
{
    said = fdopen(descriptor, "w");
    return said != NULL;
}

void answer(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(said, format, arguments);
    va_end(arguments);
    if (strchr(format, '\n'))
        fflush(said);
}

static int compare_names(const void *name, const void *function)
{
    return strcmp(name, ((const struct contract_function *)function)->name);
}

const struct contract_function *find_function(const char *name)
{
    return bsearch(name, contract_functions, contract_functions_count, sizeof *contract_functions, compare_names);
}
