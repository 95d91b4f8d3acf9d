/* torture (faults): longjmp and siglongjmp out of hooked functions, and out of a fault inside of one. */
#include <setjmp.h>

static sigjmp_buf jump_back;

static void jumper(void *data)
{
    struct dice dice = {(u64)data};
    invoke(&dice, 1);
    if ((word)data & 1)
        siglongjmp(jump_back, 1 + ((word)data & 6));
}

static void on_fault(int number)
{
    siglongjmp(jump_back, number);
}

static void part_jumps(struct dice *dice)
{
    volatile word landed = 0, faults = 0;
    struct sigaction action = {}, old;
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, &old);
    for (volatile int i = 0; i < 60; i++) {
        word n = roll(dice) & 0xfff;
        int code = sigsetjmp(jump_back, 1);
        if (code == SIGSEGV)
            faults++;
        else if (code)
            landed += code;
        else if (i % 6 == 5) {
            int function = (int)(roll(dice) % FUNCTIONS);
            count(function, ALPHA, 16);
            alpha(function, (u64 *)8, 16); /* writes where nothing is */
        }
        else
            call_back(jumper, n);
        invoke(dice, 1);
    }
    sigaction(SIGSEGV, &old, NULL);
    say("= jumps: landed %lu, faults %lu", landed, faults);
}
