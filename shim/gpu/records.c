/* Records are gathered and written in pieces. The file is opened for each: a program may close every file that it does
 * not know. */
#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 16, MOST_FILES = 10000, FIRST_NAMES = 1 << 10 };

struct name {
    word hash, number;
};

static struct {
    pthread_mutex_t lock;
    char path[4200];
    pid_t pid;
    word piece[PIECE / sizeof(word)], used;
    word dropped;
    struct name *names; /* open addressing, a power of two */
    word names_room, names_count;
} file = {.lock = PTHREAD_MUTEX_INITIALIZER};

word records_time(int clock)
{
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (word)now.tv_sec * 1000000000 + (word)now.tv_nsec;
}

void records_lock(void)
{
    pthread_mutex_lock(&file.lock);
}

void records_unlock(void)
{
    pthread_mutex_unlock(&file.lock);
}

int records_are_own(void)
{
    return file.pid && file.pid == getpid();
}

static int write_all(int to, const void *from, size_t size)
{
    for (const char *at = from; size;) {
        ssize_t written = write(to, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return 0;
        at += written, size -= (size_t)written;
    }
    return 1;
}

int records_begin(const char *folder, word cupti, word built, word has_causes)
{
    int made = -1;
    for (int number = 1; made < 0 && number < MOST_FILES; number++) {
        int size = snprintf(file.path, sizeof file.path, "%s/%d-%d.gpu", folder, (int)getpid(), number);
        if (size < 0 || (size_t)size >= sizeof file.path)
            return 0;
        made = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (made < 0 && errno != EEXIST)
            return 0;
    }
    word header[GPU_HEADER_SIZE] = {[GPU_HEADER_MAGIC] = GPU_MAGIC,
                                    [GPU_HEADER_VERSION] = GPU_VERSION,
                                    [GPU_HEADER_PID] = (word)getpid(),
                                    [GPU_HEADER_MONOTONIC] = records_time(CLOCK_MONOTONIC),
                                    [GPU_HEADER_REALTIME] = records_time(CLOCK_REALTIME),
                                    [GPU_HEADER_CUPTI] = cupti,
                                    [GPU_HEADER_BUILT] = built,
                                    [GPU_HEADER_HAS_CAUSES] = has_causes};
    int is_whole = made >= 0 && write_all(made, header, sizeof header);
    if (made >= 0)
        close(made);
    file.pid = is_whole ? getpid() : 0;
    return is_whole;
}

/* Else the program would get a signal. */
static int is_allowed(off_t end)
{
    struct rlimit limit = {0, 0};
    return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur >= (rlim_t)end + file.used * sizeof(word);
}

/* A piece that is cut off (the disk is full) is taken back: what follows could not be read otherwise. */
static int append(void)
{
    int to = open(file.path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    off_t end = to < 0 ? -1 : lseek(to, 0, SEEK_END);
    int is_whole = end >= 0 && is_allowed(end) && write_all(to, file.piece, file.used * sizeof(word));
    if (end >= 0 && !is_whole && ftruncate(to, end))
        is_whole = 0;
    if (to >= 0)
        close(to);
    return is_whole;
}

static word records_in_piece(void)
{
    word count = 0;
    for (word at = 0; at < file.used; at += file.piece[at] >> GPU_KIND_BITS & 0xffffff)
        count++;
    return count;
}

void records_write(void)
{
    if (!file.used || !records_are_own())
        return;
    if (!append())
        file.dropped += records_in_piece();
    file.used = 0;
}

static void put(word kind, const word *words, word size, const char *text, word text_words)
{
    word all = size + text_words;
    if (all * sizeof(word) > sizeof file.piece)
        return;
    if (file.used + all > sizeof file.piece / sizeof(word))
        records_write();
    word *to = file.piece + file.used;
    memcpy(to, words, size * sizeof(word));
    to[0] = (word)GPU_MARK << 32 | all << GPU_KIND_BITS | kind;
    if (text_words) {
        memset(to + size, 0, text_words * sizeof(word));
        memcpy(to + size, text, strnlen(text, text_words * sizeof(word) - 1));
    }
    file.used += all;
}

void records_dropped(word count)
{
    file.dropped += count;
    if (!file.dropped)
        return;
    word words[GPU_DROPPED_SIZE] = {[GPU_DROPPED_COUNT] = file.dropped};
    file.dropped = 0;
    put(GPU_DROPPED, words, GPU_DROPPED_SIZE, "", 0);
}

void records_add(word kind, const word *words, word size)
{
    put(kind, words, size, "", 0);
}

/* The last of the fields is the text. */
void records_add_text(word kind, const word *words, word size, const char *text)
{
    word length = strnlen(text, GPU_LONGEST_TEXT - 1);
    put(kind, words, size - 1, text, length / sizeof(word) + 1);
}

static word hash_of(const char *text)
{
    word found = 0xcbf29ce484222325u;
    for (; *text; text++)
        found = (found ^ (unsigned char)*text) * 0x100000001b3u;
    return found ? found : 1;
}

static struct name *place_of(struct name *names, word room, word hash)
{
    word at = hash & (room - 1);
    while (names[at].hash && names[at].hash != hash)
        at = (at + 1) & (room - 1);
    return names + at;
}

static int has_room_for_name(void)
{
    if (file.names_count * 2 < file.names_room)
        return 1;
    word room = file.names_room ? file.names_room * 2 : FIRST_NAMES;
    struct name *larger = calloc(room, sizeof *larger);
    if (!larger)
        return 0;
    for (word i = 0; i < file.names_room; i++)
        if (file.names[i].hash)
            *place_of(larger, room, file.names[i].hash) = file.names[i];
    free(file.names);
    file.names = larger;
    file.names_room = room;
    return 1;
}

word records_name(const char *name)
{
    if (!name || !*name || !has_room_for_name())
        return 0;
    word hash = hash_of(name);
    struct name *found = place_of(file.names, file.names_room, hash);
    if (!found->hash) {
        *found = (struct name){hash, ++file.names_count};
        word words[GPU_NAME_SIZE] = {[GPU_NAME_NUMBER] = found->number};
        records_add_text(GPU_NAME, words, GPU_NAME_SIZE, name);
    }
    return found->number;
}

void records_remark(const char *text)
{
    records_lock();
    records_add_text(GPU_REMARK, (word[GPU_REMARK_SIZE]){0}, GPU_REMARK_SIZE, text);
    records_write();
    records_unlock();
}
