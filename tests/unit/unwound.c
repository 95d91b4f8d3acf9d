// Backtraces at every instruction of a call: of those that are in the area, how many lose the caller?
// Says where the area and the entry are, reads "ADDRESS BYTES" lines up to an empty one, and writes those bytes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

typedef uint64_t word;
int call(word first, double second, const char *third); // loads the registers that a function keeps, and calls
extern char back[];                                     // where it returns to
char *entry;                                            // the function
int main(void);

__asm__(".text\n.globl call\n.type call, @function\n"
        "call: .cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbp, 0\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
        "push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
        "push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r13, 0\n"
        "push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r14, 0\n"
        "push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r15, 0\n"
        "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "mov $0x1003, %ebx\nmov $0x1006, %ebp\n"
        "mov $0x100c, %r12d\nmov $0x100d, %r13d\nmov $0x100e, %r14d\nmov $0x100f, %r15d\n"
        "pushf\n.cfi_adjust_cfa_offset 8\norl $0x100, (%rsp)\npopf\n.cfi_adjust_cfa_offset -8\n"
        "call *entry(%rip)\n.globl back\nback:\n"
        "pushf\n.cfi_adjust_cfa_offset 8\nandl $~0x100, (%rsp)\npopf\n.cfi_adjust_cfa_offset -8\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "pop %r15\n.cfi_adjust_cfa_offset -8\npop %r14\n.cfi_adjust_cfa_offset -8\npop %r13\n.cfi_adjust_cfa_offset -8\n"
        "pop %r12\n.cfi_adjust_cfa_offset -8\npop %rbx\n.cfi_adjust_cfa_offset -8\npop %rbp\n.cfi_adjust_cfa_offset -8\n"
        "ret\n.cfi_endproc\n.size call, . - call\n");

enum { SIZE = 65536 };
static char *area;
static int steps, lost, wrong;

struct seen { int caller, outermost, registers; };

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    static const int kept[] = {3, 6, 12, 13, 14, 15};
    struct seen *seen = argument;
    char *at = (char *)_Unwind_GetIP(context);
    if (at == back) {
        seen->caller = 1;
        for (int i = 0; i < 6; i++)
            seen->registers += _Unwind_GetGR(context, kept[i]) == (word)(0x1000 + kept[i]);
    }
    seen->outermost |= at > (char *)main && at < (char *)main + 4096;
    return _URC_NO_REASON;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    char *at = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    if (at < area || at >= area + SIZE)
        return;
    struct seen seen = {0};
    _Unwind_Backtrace(look, &seen);
    steps++;
    lost += !seen.caller || !seen.outermost;
    wrong += seen.registers != 6;
}

static void write_line(int memory, const char *line)
{
    char *rest, byte[3] = "";
    off_t at = strtoull(line, &rest, 16);
    for (rest += 1; rest[0] > ' '; rest += 2, at++) {
        memcpy(byte, rest, 2);
        char value = (char)strtoul(byte, NULL, 16);
        if (pwrite(memory, &value, 1, at) != 1)
            abort();
    }
}

int main(void)
{
    static char line[1 << 20];
    area = dlsym(RTLD_DEFAULT, "gdbcuda_guards_v1");
    entry = mmap(area - (1 << 24), 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%lx %lx\n", (long)area, (long)entry);
    fflush(stdout);
    int memory = open("/proc/self/mem", O_RDWR);
    while (fgets(line, sizeof line, stdin) && line[0] != '\n')
        write_line(memory, line);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (word first = 0; first < 8; first++)
        for (int second = 0; second < 2; second++)
            call(first, second, second ? "cuInit" : "other");
    printf("steps %d lost %d wrong %d\n", steps, lost, wrong);
    return 0;
}
