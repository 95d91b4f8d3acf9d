#include "contract/contract.h"

#include <signal.h>
#include <string.h>

/* Of the thread that calls: who blocks signals for a while has to put that back on each way out. */
static unsigned long signals_before;

static unsigned long blocked_signals(void)
{
    sigset_t mask;
    unsigned long first; /* all that the kernel has */
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    memcpy(&first, &mask, sizeof first);
    return first;
}

static void tell(const char *name, unsigned long before, unsigned long after)
{
    if (before != after)
        answer("%s=%#lx>%#lx,", name, before, after);
}

static void tell_signals(void)
{
    unsigned long after = blocked_signals();
    sigset_t mask;
    tell("signal-mask", signals_before, after);
    sigemptyset(&mask);
    memcpy(&mask, &signals_before, sizeof signals_before);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* What a function has to leave to its caller as it was (System V ABI for x86-64, 3.2.1 and 3.2.3): rbx, rsp, rbp and r12
   to r15, the control bits of MXCSR and the x87 control word; the x87 stack is empty and the direction flag clear. */
#if defined __x86_64__
struct machine {
    unsigned long registers[7], flags;
    unsigned mxcsr;
    unsigned short x87[14]; /* as fnstenv has it */
};
static struct machine contract_before, contract_after;
void *contract_function, *contract_back; /* what is called, and where it returns to */
void contract_checked(void);

enum { MXCSR_CONTROL = 0xffc0, X87_EMPTY = 0xffff, DIRECTION = 1 << 10 };

/* It takes the place of the function: the stack is the one that its arguments are on. rbp stays, for who walks frames. */
__asm__(".pushsection .text\n"
        ".type contract_checked, @function\n"
        "contract_checked:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n" /* nobody unwinds further */
        "    pop contract_back(%rip)\n"
        "    lea contract_before(%rip), %r11\n"
        "    call contract_keep\n"
        "    mov $0x5a5a5a5a5a5a5b00, %rbx\n"
        "    mov $0x5a5a5a5a5a5a5c00, %r12\n"
        "    mov $0x5a5a5a5a5a5a5d00, %r13\n"
        "    mov $0x5a5a5a5a5a5a5e00, %r14\n"
        "    mov $0x5a5a5a5a5a5a5f00, %r15\n"
        "    call *contract_function(%rip)\n"
        "    lea contract_after(%rip), %r11\n"
        "    call contract_keep\n"
        "    lea contract_before(%rip), %r11\n"
        "    mov (%r11), %rbx\n"
        "    mov 8(%r11), %rsp\n"
        "    mov 16(%r11), %rbp\n"
        "    mov 24(%r11), %r12\n"
        "    mov 32(%r11), %r13\n"
        "    mov 40(%r11), %r14\n"
        "    mov 48(%r11), %r15\n"
        "    cld\n"
        "    ldmxcsr 64(%r11)\n"
        "    fninit\n"
        "    fldcw 68(%r11)\n"
        "    jmp *contract_back(%rip)\n"
        ".cfi_endproc\n"
        ".size contract_checked, .-contract_checked\n"
        "contract_keep:\n"
        "    mov %rbx, (%r11)\n"
        "    lea 8(%rsp), %r10\n"
        "    mov %r10, 8(%r11)\n"
        "    mov %rbp, 16(%r11)\n"
        "    mov %r12, 24(%r11)\n"
        "    mov %r13, 32(%r11)\n"
        "    mov %r14, 40(%r11)\n"
        "    mov %r15, 48(%r11)\n"
        "    pushf\n"
        "    pop 56(%r11)\n"
        "    stmxcsr 64(%r11)\n"
        "    fnstenv 68(%r11)\n"
        "    fldcw 68(%r11)\n" /* fnstenv has masked its exceptions */
        "    ret\n"
        ".popsection");

void *machine_checked(void *function)
{
    signals_before = blocked_signals();
    contract_function = function;
    return (void *)contract_checked;
}

void machine_tell_changes(void)
{
    static const char names[][4] = {"rbx", "rsp", "rbp", "r12", "r13", "r14", "r15"};
    static const unsigned long marks[7] = {0x5a5a5a5a5a5a5b00, 0, 0, 0x5a5a5a5a5a5a5c00, 0x5a5a5a5a5a5a5d00,
                                           0x5a5a5a5a5a5a5e00, 0x5a5a5a5a5a5a5f00};
    const struct machine *before = &contract_before, *after = &contract_after;
    for (int i = 0; i < 7; i++)
        tell(names[i], marks[i] ? marks[i] : before->registers[i], after->registers[i]);
    tell("direction-flag", 0, after->flags & DIRECTION);
    tell("MXCSR", before->mxcsr & MXCSR_CONTROL, after->mxcsr & MXCSR_CONTROL);
    tell("x87-control-word", before->x87[0], after->x87[0]);
    tell("x87-stack", X87_EMPTY, after->x87[4]);
    tell_signals();
}
#else
void *machine_checked(void *function)
{
    signals_before = blocked_signals();
    return function;
}

void machine_tell_changes(void)
{
    tell_signals();
}
#endif
