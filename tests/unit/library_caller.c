/* Reads the code from standard input into executable pages, and says which words differ behind it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FLAGS = 16 * 4 + 15, WORDS, MORE = 2 };
void library_caller(void *code, unsigned long *before, unsigned long *after);
extern char onward[];

int main(void)
{
    unsigned long before[WORDS], after[WORDS + MORE] = {0};
    char *code = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int i = 0; i < WORDS; i++)
        before[i] = 0x0101010101010101ul * (i + 1);
    printf("%p %p %p\n", dlsym(RTLD_DEFAULT, "dlopen"), dlsym(RTLD_DEFAULT, "__errno_location"), (void *)onward);
    fflush(stdout);
    if (read(0, code, 4096) <= 0)
        return 2;
    for (int i = 0; i < 2; i++) {
        before[FLAGS] = i ? 0x202 : 0xed7; /* none of those that calculations set, or all, and the direction */
        errno = 99;
        library_caller(code, before, after);
        printf("errno %d, flags %lx, red zone %lx, stack %ld, differ %d\n", errno, after[FLAGS], after[WORDS],
               after[WORDS + 1], memcmp(before, after, sizeof before) != 0);
    }
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "brought.so"))
            return puts("loaded") < 0;
    return 1;
}
