/* torture: Stacks of its own: a call begins on one, another is made on the next meanwhile, and each goes on. */
#include <ucontext.h>

static ucontext_t coroutine_main, coroutine[3];
static int coroutine_now, coroutine_done;

static void yield_inside(void *data)
{
    (void)data;
    int me = coroutine_now, next = (me + 1) % 3;
    coroutine_now = next;
    swapcontext(&coroutine[me], &coroutine[next]);
    coroutine_now = me;
}

static void coroutine_body(void)
{
    int me = coroutine_now;
    struct dice dice = {(u64)me + 77};
    for (int i = 0; i < 12; i++) {
        invoke(&dice, 1);
        call_back(yield_inside, (word)i + 1);
    }
    coroutine_done++;
    coroutine_now = (me + 1) % 3;
    if (coroutine_done == 3)
        setcontext(&coroutine_main);
    setcontext(&coroutine[coroutine_now]);
}

static void part_coroutines(struct dice *dice)
{
    enum { SIZE = 1 << 17 };
    char *stacks = (char *)malloc(3 * SIZE);
    coroutine_done = coroutine_now = 0;
    for (int i = 0; i < 3; i++) {
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = stacks + i * SIZE;
        coroutine[i].uc_stack.ss_size = SIZE;
        coroutine[i].uc_link = NULL;
        makecontext(&coroutine[i], coroutine_body, 0);
    }
    swapcontext(&coroutine_main, &coroutine[0]);
    free(stacks);
    invoke(dice, 1);
    say("= coroutines: %d done", coroutine_done);
}
