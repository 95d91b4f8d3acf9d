#include "contract/contract.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int channel;

/* NAME VALUE: what the program and the libraries in it find in their environment from now on. */
static void command_set(void)
{
    char *name = next_word(), *value = rest_of_line();
    for (char *at = value; *at; at++)
        if (*at == '\t')
            *at = '\n';
    setenv(name, value, 1);
    answer("ok\n");
}

static void command_aside(void);
static void command_between(void);

static const struct command {
    const char *name;
    void (*run)(void);
} commands[] = {
    {"again", command_again}, {"aside", command_aside}, {"between", command_between}, {"call", command_call},
    {"code", command_code},
    {"dlerror", command_dlerror}, {"dlsym", command_dlsym}, {"dlvsym", command_dlvsym},
    {"end", command_end}, {"fork", command_fork}, {"handed-out", command_handed_out},
    {"linked", command_linked}, {"open", command_open},
    {"peek", command_peek}, {"poke", command_poke}, {"renew", command_renew}, {"set", command_set}, {"watch", command_watch},
    {"where", command_where},
};

static void obey(char *line)
{
    const char *name = first_word(line);
    for (unsigned i = 0; name && i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0) {
            commands[i].run();
            return;
        }
    answer("no such command: %s\n", name ? name : "");
}

/* It takes what is before the end of a line: what is read ahead in one process would be lost to the other. */
static ssize_t take(char *to, size_t room)
{
    ssize_t seen = recv(channel, to, room, MSG_PEEK);
    const char *end = seen > 0 ? memchr(to, '\n', (size_t)seen) : NULL;
    return seen > 0 ? recv(channel, to, end ? (size_t)(end + 1 - to) : (size_t)seen, 0) : seen;
}

static bool obey_next(void)
{
    enum { PIECE = 1 << 10 };
    static char *line;
    static size_t size;
    size_t length = 0;
    do {
        if (size <= length + PIECE && !(line = realloc(line, size = 2 * length + 2 * PIECE)))
            return false;
        ssize_t taken = take(line + length, PIECE);
        if (taken <= 0)
            return false;
        length += (size_t)taken;
    } while (line[length - 1] != '\n');
    line[length] = 0;
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

static unsigned long other_commands;

static void be_the_other(void)
{
    answer("%x\n", (unsigned)gettid());
    obey_some(&other_commands);
    call_keep();
}

/* COUNT PATH: a thread obeys so many commands, the last of which is a call. It makes that again between each two
   instructions of that library in the next call. Its number; 0 where that cannot be. */
static void command_between(void)
{
    other_commands = next_number();
    if (!between_begin(rest_of_line(), be_the_other, call_kept))
        answer("0\n");
}

int main(int count, char **words)
{
    channel = count > 1 ? atoi(words[1]) : 0;
    if (!answers_go_to(channel))
        return 2;
    arena_make();
    answer("ready %s %lx\n", contract_versions, (unsigned long)arena);
    while (obey_next())
        ;
    return 0;
}
