#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Tools that test a hook library prescribe what a function answers, and are told what reached it:
 *
 *     GDBCUDA_STANDIN_SEEN=FILE    a line for each call is added to it: the function's name; "" for no file
 *     GDBCUDA_STANDIN_ANSWER       lines "NAME WORD...", read again at each call:
 *         read=ARGUMENT:SIZE       so many bytes that the argument points to are in the line of the call
 *         result=HEX errno=NUMBER  what is returned, and what errno is then; without a result the body runs
 *         write=ARGUMENT:HEX       bytes for where the argument points to
 *         delay=MICROSECONDS       so long the call takes, before it does anything
 *         late=MICROSECONDS        so long it takes when all is done
 *         while=FILE               it writes into the file, and takes as long as the file is there
 *         nth=NUMBER               that call alone, counted since the line is there; of one line
 *         thread=NUMBER            the calls of that thread alone
 *         unseen                   no line is added for it
 *
 * The line of a call that is named there goes on with the bytes of each argument in hex, ":" and what it points to, "!"
 * where that cannot be read or written, "*" and the thread's number where it was counted.
 */
#define SEEN "GDBCUDA_STANDIN_SEEN"
#define ANSWER "GDBCUDA_STANDIN_ANSWER"
enum { LARGEST = 1 << 17 }; /* bytes that a pointer leads to */

bool answering;

struct line {
    char *text;
    size_t used, size;
};

__attribute__((constructor)) static void read_setting(void)
{
    answering = getenv(SEEN) != NULL;
}

static void add(struct line *line, const char *text, size_t length)
{
    if (line->used + length > line->size) {
        char *larger = realloc(line->text, 2 * (line->used + length));
        if (!larger)
            return;
        line->text = larger;
        line->size = 2 * (line->used + length);
    }
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

static void add_hex(struct line *line, const void *bytes, size_t size)
{
    char pair[3];
    for (size_t i = 0; i < size; i++) {
        snprintf(pair, sizeof pair, "%02x", ((const unsigned char *)bytes)[i]);
        add(line, pair, 2);
    }
}

/* Of a pointer that may lead nowhere. */
static bool copied(bool is_write, void *own, void *theirs, size_t size)
{
    struct iovec here = {own, size}, there = {theirs, size};
    ssize_t done = is_write ? process_vm_writev(getpid(), &here, 1, &there, 1, 0)
                            : process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return done == (ssize_t)size;
}

static void add_pointee(struct line *line, const struct given *given, size_t size)
{
    void *pointer = *(void *const *)given->value;
    if (!pointer)
        return;
    char *held = size <= LARGEST ? malloc(size) : NULL;
    add(line, ":", 1);
    if (held && copied(false, held, pointer, size))
        add_hex(line, held, size);
    else
        add(line, "!", 1);
    free(held);
}

static size_t from_hex(const char *text, unsigned char *bytes, size_t most)
{
    size_t count = 0;
    unsigned byte;
    while (count < most && sscanf(text + 2 * count, "%2x", &byte) == 1 && text[2 * count] > ' ')
        bytes[count++] = (unsigned char)byte;
    return count;
}

/* Behind " WORD=" of that line, NULL where it is not there. */
static const char *value_of(const char *words, const char *word)
{
    const char *at = strstr(words, word);
    return at && at < words + strcspn(words, "\n") ? at + strlen(word) : NULL;
}

static bool is_counted_out(const char *words)
{
    static unsigned calls;
    const char *nth = value_of(words, " nth=");
    return nth && __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != strtoul(nth, NULL, 10);
}

static bool is_of_another(const char *words)
{
    const char *thread = value_of(words, " thread=");
    return thread && strtol(thread, NULL, 10) != gettid();
}

/* "A WORD...\nB WORD...": the words behind that name, NULL where it is not there. */
static const char *prescription(const char *name)
{
    const char *text = getenv(ANSWER);
    size_t length = strlen(name);
    for (; text && *text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
        if (strncmp(text, name, length) == 0 && strchr(" \n", text[length]) && !is_of_another(text + length) &&
            !is_counted_out(text + length))
            return text + length;
    return NULL;
}

static size_t read_size(const char *words, unsigned argument)
{
    const char *end = words + strcspn(words, "\n");
    unsigned number;
    size_t size;
    for (const char *at = strstr(words, " read="); at && at < end; at = strstr(at + 1, " read="))
        if (sscanf(at, " read=%u:%zu", &number, &size) == 2 && number == argument)
            return size;
    return 0;
}

static void add_arguments(struct line *line, const struct given *given, const char *words)
{
    for (unsigned i = 0; given[i].value; i++) {
        size_t size = read_size(words, i);
        add(line, " ", 1);
        add_hex(line, given[i].value, given[i].size);
        if (size && given[i].size == sizeof(void *))
            add_pointee(line, &given[i], size);
    }
}

static void write_out(const struct given *given, const char *words, struct line *line)
{
    unsigned char *held = malloc(LARGEST);
    const char *end = words + strcspn(words, "\n");
    unsigned number;
    int length;
    for (const char *at = strstr(words, " write="); held && at && at < end; at = strstr(at + 1, " write=")) {
        if (sscanf(at, " write=%u:%n", &number, &length) != 1)
            break;
        size_t size = from_hex(at + length, held, LARGEST);
        void *pointer = *(void *const *)given[number].value;
        if (pointer && !copied(true, held, pointer, size))
            add(line, " !", 2);
    }
    free(held);
}

static void add_thread(struct line *line)
{
    char text[16];
    add(line, text, (size_t)snprintf(text, sizeof text, " *%d", (int)gettid()));
}

static void put(struct line *line)
{
    add(line, "\n", 1);
    const char *path = getenv(SEEN);
    int file = path && *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0 && write(file, line->text, line->used) < 0)
        answering = false;
    if (file >= 0)
        close(file);
    free(line->text);
}

static void delay(const char *words)
{
    const char *microseconds = value_of(words, " delay=");
    if (microseconds)
        usleep((useconds_t)strtoul(microseconds, NULL, 10));
}

static void wait_while(const char *words)
{
    char path[256];
    const char *word = value_of(words, " while=");
    int file = word && sscanf(word, "%255s", path) == 1 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (file < 0 || write(file, "1", 1) < 0)
        return;
    close(file);
    while (access(path, F_OK) == 0)
        usleep(1000);
}

void linger(const char *name)
{
    size_t length = strlen(name);
    int before = errno;
    for (const char *text = getenv(ANSWER); text && *text; text = strchr(text, '\n'), text = text ? text + 1 : NULL) {
        const char *late = strncmp(text, name, length) == 0 && text[length] == ' ' ? value_of(text, " late=") : NULL;
        if (late)
            usleep((useconds_t)strtoul(late, NULL, 10));
    }
    errno = before;
}

bool answered(const char *name, const struct given *given, void *result, size_t size)
{
    struct line line = {0};
    int before = errno;
    const char *words = prescription(name);
    add(&line, name, strlen(name));
    if (words) {
        add_arguments(&line, given, words);
        delay(words);
        wait_while(words);
    }
    if (words && value_of(words, " nth="))
        add_thread(&line);
    const char *prescribed = words ? value_of(words, " result=") : NULL;
    if (prescribed) {
        from_hex(prescribed, result, size);
        write_out(given, words, &line);
    }
    if (words && value_of(words, " unseen"))
        free(line.text);
    else
        put(&line);
    const char *number = prescribed ? value_of(words, " errno=") : NULL;
    errno = number ? atoi(number) : before;
    return prescribed;
}
