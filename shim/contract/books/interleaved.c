/* Two that ask for memory, and give it back. While the first is in a call, before one of its instructions in the hook
   library, the other makes a whole call: at each instruction once. It is a thread, or a process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
/* DECLARATIONS */

/* STEPPING */

enum { MOST = 400, SMALL = 1 << 20 };

static nvmlDevice_t device;
static CUcontext context;
static size_t large, size, most;

/* HELPERS */

struct side {
    BLOCK block;
    int has;
};

static struct side first;
static struct shared {
    struct side side;
    sem_t asked, done;
    size_t size;
    pid_t thread;
    int failed;
} *other;
static unsigned long places[MOST];
static unsigned count;
static int is_asked, is_stepped;

/* NUMBERS */

static int begin(void)
{
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static void get(struct side *side)
{
    BLOCK block = 0;
    side->has = ALLOCATE == 0;
    side->block = block;
}

static void turn(struct side *side)
{
    BLOCK block = side->block;
    if (!side->has)
        get(side);
    else if (RELEASE == 0)
        side->has = 0;
}

static void *be_the_other(void *is_process)
{
    if (is_process)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    other->thread = gettid();
    other->failed = is_process ? begin() : cuCtxSetCurrent(context) != 0;
    sem_post(&other->done);
    while (!other->failed && sem_wait(&other->asked) == 0) {
        if (is_process)
            size = other->size;
        turn(&other->side);
        sem_post(&other->done);
    }
    return NULL;
}

static int begin_other(int is_process)
{
    pthread_t thread;
    other = mmap(NULL, sizeof *other, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&other->asked, 1, 0);
    sem_init(&other->done, 1, 0);
    if (is_process && fork() == 0)
        exit(be_the_other(&other) != NULL);
    int failed = begin() || (!is_process && pthread_create(&thread, NULL, be_the_other, NULL));
    if (is_process || !failed)
        sem_wait(&other->done);
    return failed || other->failed;
}

static void ask_other(void)
{
    other->size = size;
    sem_post(&other->asked);
    is_asked = 1;
}

static void wait_for_other(void)
{
    while (is_asked && sem_wait(&other->done))
        ;
    is_asked = 0;
}

/* Where it waits for what the first one has, that goes on. */
static bool let_the_other(unsigned long at, bool is_after_another)
{
    (void)at, (void)is_after_another;
    ask_other();
    if (other_thread_answers(&other->done, other->thread))
        is_asked = 0;
    return false;
}

static bool note_place(unsigned long at, bool is_after_another)
{
    (void)is_after_another;
    for (unsigned i = 0; i < count; i++)
        if (places[i] == at)
            return true;
    if (count < MOST)
        places[count++] = at;
    return true;
}

static void have(int first_has, int other_has)
{
    if (first.has != first_has)
        turn(&first);
    if (other->side.has != other_has) {
        ask_other();
        wait_for_other();
    }
}

static void find_places(void)
{
    count = 0;
    if (is_stepped)
        stepping_begins(NULL, note_place);
    turn(&first);
    if (is_stepped)
        stepping_ends();
}

static void in_each_place(int first_has, int other_has, size_t of_each)
{
    size = of_each;
    have(!first_has, 0); /* what is done once is done */
    have(first_has, other_has);
    find_places();
    for (unsigned i = 0; i < count; i++) {
        have(first_has, other_has);
        stepping_waits_at(places[i], let_the_other);
        turn(&first);
        stepping_ends();
        wait_for_other();
        size_t granted = size * (size_t)(first.has + other->side.has);
        most = granted > most ? granted : most;
    }
    have(0, 0);
}

static void step(int number)
{
    printf("step %d 0\n", number);
    numbers();
    fflush(stdout);
}

static size_t taken(void)
{
    size_t free = 0, total = 0;
    return cuMemGetInfo_v2(&free, &total) ? 0 : total - free;
}

/* Does it see what the other one has? */
static int is_shared(void)
{
    size_t before = taken();
    have(0, 1);
    size_t seen = taken() - before;
    have(0, 0);
    return seen == size;
}

int main(int words, char **told)
{
    int number = 0, is_process = words > 2 && strcmp(told[2], "process") == 0;

    if (words < 4 || begin_other(is_process))
        return 2;
    is_stepped = stepping_finds(told[1]);
    if (nvmlInit_v2() == 0)
        nvmlDeviceGetHandleByIndex_v2(0, &device);
    large = strtoull(told[3], NULL, 10);
    size = SMALL;
    have(1, 1);
    have(0, 0);
    if (is_process && !is_shared())
        return 0;
    step(number++);
    for (int all = 0; all < 4; all++) {
        in_each_place(all & 1, all >> 1, SMALL);
        step(number++);
    }
    most = 0;
    if (large)
        in_each_place(0, 0, large);
    printf("together %zu\n", most);
    return 0;
}
