#include "contract/contract.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *asked, *said;
static char *rest;

char *next_word(void)
{
    return strtok_r(NULL, " \n", &rest);
}

unsigned long next_number(void)
{
    char *word = next_word();
    return word ? strtoul(word, NULL, 16) : 0;
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

/* NAME VALUE: what the program and the libraries in it find in their environment from now on. */
static void command_set(void)
{
    char *name = next_word(), *value = rest ? rest : "";
    value[strcspn(value, "\n")] = 0;
    for (char *at = value; *at; at++)
        if (*at == '\t')
            *at = '\n';
    setenv(name, value, 1);
    answer("ok\n");
}

static void command_aside(void);

static const struct command {
    const char *name;
    void (*run)(void);
} commands[] = {
    {"aside", command_aside}, {"call", command_call}, {"dlsym", command_dlsym}, {"dlvsym", command_dlvsym},
    {"end", command_end}, {"fork", command_fork}, {"linked", command_linked}, {"open", command_open},
    {"peek", command_peek}, {"poke", command_poke}, {"set", command_set}, {"watch", command_watch},
    {"where", command_where},
};

static void obey(char *line)
{
    char *name = strtok_r(line, " \n", &rest);
    for (unsigned i = 0; name && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].run();
            return;
        }
    answer("no such command: %s\n", name ? name : "");
}

static bool obey_next(void)
{
    static char *line;
    static size_t size;
    if (getline(&line, &size, asked) <= 0)
        return false;
    obey(line);
    return true;
}

static void *obey_some(void *count)
{
    for (unsigned long left = *(unsigned long *)count; left && obey_next(); left--)
        ;
    return NULL;
}

/* COUNT: another thread obeys so many commands. */
static void command_aside(void)
{
    pthread_t thread;
    unsigned long count = next_number();
    answer("ok\n");
    if (pthread_create(&thread, NULL, obey_some, &count))
        exit(3);
    pthread_join(thread, NULL);
}

int main(int count, char **words)
{
    int channel = count > 1 ? atoi(words[1]) : 0;
    asked = fdopen(channel, "r");
    said = fdopen(channel, "w");
    if (!asked || !said)
        return 2;
    setvbuf(asked, NULL, _IONBF, 0); /* what is read ahead in one process would be lost to the other */
    arena_make();
    answer("ready %s %lx\n", contract_versions, (unsigned long)arena);
    while (obey_next())
        ;
    return 0;
}
