"""What the guards are tried on: a hook of a few lines, and programs that call it often."""

from __future__ import annotations

# Where a test knows a compiled function's bytes: Ubuntu's compiler begins each with endbr64.
PLAIN_ENTRY = "-fcf-protection=none"

HOOK = """
#include <stddef.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize)
{
    *dptr = *dptr * 31 + bytesize;
    return bytesize >> 40 == 3 ? 2 : 0;
}
"""

# As vendors' libraries are: no debug info, gdb breaks behind push and mov, filling in front.
STRIPPED_HOOK = """
__asm__(".text\\n.p2align 4\\nother: mov %rdi,%rax\\nret\\n.p2align 4\\n"
        ".globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n.cfi_startproc\\n"
        "push %rbp\\n.cfi_def_cfa_offset 16\\n.cfi_offset 6,-16\\nmov %rsp,%rbp\\n.cfi_def_cfa_register 6\\n"
        "push %r15\\nmov (%rdi),%rax\\nimul $31,%rax,%rax\\nadd %rsi,%rax\\nmov %rax,(%rdi)\\nxor %eax,%eax\\n"
        "pop %r15\\npop %rbp\\n.cfi_def_cfa 7,8\\nret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""

# Keeps the flags, behind the jump of a guard.
KEEPS_FLAGS = """
__asm__(".text\\n.p2align 4\\n.globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n"
        "mov %rsi,%rdx\\nmov (%rdi),%rax\\npushfq\\nimul $31,%rax,%rax\\nadd %rdx,%rax\\nmov %rax,(%rdi)\\npopfq\\n"
        "xor %eax,%eax\\nret\\n"
        ".size cuMemAlloc_v2,.-cuMemAlloc_v2\\n.p2align 4\\n");
"""

# Calls itself behind its first instruction, up to seven times.
CALLS_ITSELF = """
__asm__(".text\\n.p2align 4\\nother: mov %rdi,%rax\\nret\\n.p2align 4\\n"
        ".globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n.cfi_startproc\\nmov %rsi,%rdx\\n"
        "1: mov (%rdi),%rax\\nimul $31,%rax,%rax\\nadd %rdx,%rax\\nmov %rax,(%rdi)\\ntest $7,%dl\\nje 2f\\ndec %rdx\\n"
        "sub $8,%rsp\\n.cfi_adjust_cfa_offset 8\\ncall 1b\\nadd $8,%rsp\\n.cfi_adjust_cfa_offset -8\\nret\\n"
        "2: xor %eax,%eax\\nret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""

# Begins with a call, and no room for a jump in front of it.
UNGUARDABLE = """
__asm__(".text\\n.p2align 4\\nother: call 1f\\n1: pop %rax\\nret\\n"
        ".globl cuMemAlloc_v2\\n.type cuMemAlloc_v2,@function\\ncuMemAlloc_v2:\\n.cfi_startproc\\n"
        "call other\\nxor %eax,%eax\\nret\\n.cfi_endproc\\n.size cuMemAlloc_v2,.-cuMemAlloc_v2\\n");
"""

RESOLVER = """
#include <stddef.h>
int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags, int *status)
{
    *pfn = (void *)symbol;
    return 0;
}
"""

ASKING = """
#include <stdio.h>
int cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, unsigned long long flags, int *status);
int main(void)
{
    const char *names[] = {"cuInit", "cuMemAlloc", "cuMemAllocAsync", NULL, "cuMem"};
    void *found;
    int status;
    for (int i = 0; i < 5000; i++)
        cuGetProcAddress_v2(names[i % 5], &found, 12000, 0, &status);
    puts("asked");
    return 0;
}
"""

# calls THREADS CALLS MATCHES [FILE]: each thread calls with sizes below 16M, MATCHES times with one above 1T.
CALLS = """
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static long calls, matches;
static void *work(void *argument)
{
    unsigned long long random = (unsigned long long)argument, sum = 0;
    for (long i = 0, next = 0; i < calls; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t bytes = random >> 40;
        if (matches && i == next) {
            bytes = ((size_t)1 << 40) + (size_t)argument * 1000 + (size_t)(i / (calls / matches));
            next += calls / matches;
        }
        cuMemAlloc_v2(&sum, bytes);
    }
    return (void *)sum;
}
int main(int count, char **words)
{
    int threads = atoi(words[1]);
    pthread_t thread[64];
    unsigned long long all = 0;
    struct timespec start, end;
    calls = atol(words[2]);
    matches = atol(words[3]);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < threads; i++) {
        void *sum;
        pthread_join(thread[i], &sum);
        all ^= (unsigned long long)sum;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double spent = (end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec);
    FILE *out = count > 4 ? fopen(words[4], "w") : stdout; /* through gdbserver the last words can be lost */
    fprintf(out, "checksum %llx, %.3f ns a call\\n", all, spent / calls);
    return 0;
}
"""

# One thread; a dlopen on the way, and a child that makes the call that matches.
ONE = """
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static __attribute__((noinline, noclone)) int ask(size_t bytes)
{
    unsigned long long sum = 1;
    int result = cuMemAlloc_v2(&sum, bytes);
    return result + (int)sum * 0;
}
int main(void)
{
    int errors = 0, status;
    for (size_t i = 0; i < 400; i++) {
        if (i == 200)
            printf("loaded %d\\n", dlopen("libpthread.so.0", RTLD_NOW) && dlopen(LIBRARY, RTLD_NOW));
        if (i == 250 && fork() == 0)
            return ask((size_t)1 << 40) == 0 ? 7 : 8;
        errors += ask(i == 100 || i == 300 ? ((size_t)1 << 40) + i : i == 310 ? (size_t)3 << 40 : i) != 0;
    }
    wait(&status);
    printf("child %d, errors %d\\n", WEXITSTATUS(status), errors);
    return 0;
}
"""

# Calls, a match at the 100th; then a child does, a match at the 200th; then in its place the program that calls again.
FORKING = """
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static void work(const char *who, size_t match)
{
    unsigned long long sum = 1;
    for (size_t i = 0; i < 2000; i++)
        cuMemAlloc_v2(&sum, i == match ? ((size_t)1 << 40) + i : i);
    printf("%s %llx\\n", who, sum);
    fflush(stdout);
}
int main(int count, char **words)
{
    int status;
    if (count > 1) {
        work("again", 300);
        return 0;
    }
    work("first", 100);
    if (fork() == 0) {
        work("child", 200);
        _exit(7);
    }
    wait(&status);
    printf("status %d\\n", WEXITSTATUS(status));
    fflush(stdout);
    return execl(words[0], words[0], "again", NULL);
}
"""

# Threads that call for so many ms, or with 0 until the input ends; with a second word a signal handler calls too.
BUSY = """
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize);
static volatile sig_atomic_t stop, ticks;
static volatile long wrong;
static void on_tick(int number)
{
    unsigned long long x = 1;
    size_t bytes = ticks % 20 == 7 ? ((size_t)2 << 40) + ticks : 5;
    cuMemAlloc_v2(&x, bytes);
    wrong += x != 31 + bytes;
    ticks++;
}
static void *work(void *argument)
{
    unsigned long long n = 0;
    while (!stop) {
        unsigned long long sum = n;
        size_t bytes = ++n % 20000 ? n & 0xffffff : ((size_t)1 << 40) + n;
        cuMemAlloc_v2(&sum, bytes);
        if (sum != (n - 1) * 31 + bytes)
            __sync_fetch_and_add(&wrong, 1);
    }
    return NULL;
}
int main(int count, char **words)
{
    pthread_t thread[4];
    struct itimerval every = {{0, 2000}, {0, 2000}};
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    if (count > 2) {
        signal(SIGALRM, on_tick);
        setitimer(ITIMER_REAL, &every, 0);
    }
    printf("started\\n");
    fflush(stdout);
    for (int i = 0; i < atoi(words[1]); i++)
        usleep(1000);
    if (atoi(words[1]) == 0)
        getchar();
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    printf("wrong %ld\\n", wrong);
    return 0;
}
"""

# A file of gdb commands: at each stop the size is noted.
STOPS = """python
sizes = []
def note(event):
    if isinstance(event, gdb.BreakpointEvent): sizes.append(int(gdb.parse_and_eval('bytesize')))
gdb.events.stop.connect(note)
end
"""
GO_ON = "python while gdb.selected_inferior().pid: gdb.execute('continue', to_string=True)"
