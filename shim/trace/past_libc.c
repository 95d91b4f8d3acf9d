/* Code that makes system calls past libc: nobody is asked there when the program confines itself. */
#include "trace.h"

#include <elf.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define MOST_PARTS 64
#define NEAR 72 /* bytes in front of a system call in which its number is loaded */
#define MOST_READ (1ul << 26)
#define MOST_EXACT (1ul << 18) /* in more code the two bytes are often something else */

/* .eh_frame_hdr: version 1; 32-bit numbers from their own place, without a sign, and from the table's place */
#define TABLE_FORM 0x3b031b01u

typedef unsigned char byte;

struct range {
    word begin, end;
};

struct unwind_table {
    unsigned form;
    int records;
    unsigned count;
};

struct unwind_entry {
    int function, record; /* from the table's place */
};

struct unwind_record {
    unsigned length, header;
    int function; /* from this place */
    unsigned size;
};

static const ElfW(Phdr) *program_parts;
static word program_parts_count;

void past_libc_begin(char **environment)
{
    while (*environment)
        environment++;
    for (const ElfW(auxv_t) *one = (const void *)(environment + 1); one->a_type != AT_NULL; one++) {
        if (one->a_type == AT_PHDR)
            program_parts = (const ElfW(Phdr) *)one->a_un.a_val;
        if (one->a_type == AT_PHNUM)
            program_parts_count = one->a_un.a_val;
    }
}

/* What is there, asked as another process would: an object need not begin where it was loaded. */
static int got(word pid, void *to, word from, word size)
{
    struct iovec here = {to, size}, there = {(void *)from, size};
    return system_call(SYS_process_vm_readv, pid, (word)&here, 1, (word)&there, 1, 0) == (long)size;
}

static word parts_of(const struct link_map *object, ElfW(Phdr) *to)
{
    ElfW(Ehdr) header;
    word pid = (word)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), count = program_parts_count;
    if (!*object->l_name)
        return count <= MOST_PARTS && got(pid, to, (word)program_parts, count * sizeof *to) ? count : 0;
    if (!object->l_addr || !got(pid, &header, object->l_addr, sizeof header) || header.e_ident[0] != 0x7f ||
        header.e_ident[1] != 'E' || header.e_phnum > MOST_PARTS)
        return 0;
    return got(pid, to, object->l_addr + header.e_phoff, header.e_phnum * sizeof *to) ? header.e_phnum : 0;
}

/* What the instruction at that place, if it is one, loads into eax; -1 for another. */
static long loaded(const byte *at)
{
    int is_move = at[0] == 0xb8 || (at[0] == 0xc7 && at[1] == 0xc0);
    const byte *number = at + (at[0] == 0xb8 ? 1 : 2);
    if (is_move && !number[2] && !number[3])
        return number[0] | number[1] << 8;
    return (at[0] == 0x31 || at[0] == 0x33) && at[1] == 0xc0 ? 0 : -1;
}

/* Where a function may begin in front of that place: endbr64, push %rbp and mov %rsp,%rbp, behind a return. */
static int begins(const byte *at)
{
    return (at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa) ||
           (at[0] == 0x55 && at[1] == 0x48 && at[2] == 0x89 && at[3] == 0xe5) || at[0] == 0xc3;
}

/* Displacements of less than 16 MB have a zero there, or what is below zero does. */
static int is_followed_by_code(const byte *next)
{
    int has_number = next[0] == 0x3d || (next[0] & 0xf8) == 0xb8;
    return next[0] && next[0] != 0xff && (has_number || (next[1] && next[1] != 0xff));
}

static int may_confine(const byte *begin, const byte *call, int is_exact)
{
    int is_known = 0, is_near = 1;
    for (const byte *at = call - 2; at >= begin && at >= call - NEAR; at--) {
        long number = loaded(at);
        if (number == SYS_prctl || number == SYS_seccomp)
            return 1;
        is_near &= !begins(at);
        is_known |= is_near && number >= 0;
    }
    return is_exact && !is_known && is_followed_by_code(call + 2);
}

/* Where functions are that a compiler has made, by the table for unwinding; everywhere, where there is none of the form
 * that linkers write. What lies behind them may be data. */
static struct range functions_of(const struct link_map *object, const ElfW(Phdr) *parts, word count)
{
    const struct range everywhere = {0, ~0ul};
    word pid = (word)system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), table = 0;
    struct unwind_table head;
    struct unwind_entry first, last;
    struct unwind_record record;
    for (word i = 0; i < count; i++)
        if (parts[i].p_type == PT_GNU_EH_FRAME)
            table = object->l_addr + parts[i].p_vaddr;
    if (!table || !got(pid, &head, table, sizeof head) || head.form != TABLE_FORM || !head.count ||
        !got(pid, &first, table + sizeof head, sizeof first) ||
        !got(pid, &last, table + sizeof head + (head.count - 1) * sizeof last, sizeof last) ||
        !got(pid, &record, table + (word)(long)last.record, sizeof record) ||
        (unsigned)last.function != (unsigned)last.record + 8 + (unsigned)record.function)
        return everywhere;
    return (struct range){table + (word)(long)first.function, table + (word)(long)last.function + record.size};
}

#define EACH(byte) ((byte) * 0x0101010101010101ul) /* of a word */
#define AHEAD 11 /* bytes: a word of second bytes, and what may follow the last one of them */

static int has_zero(word eight)
{
    return ((eight - EACH(1ul)) & ~eight & EACH(0x80ul)) != 0;
}

/* The first place that has the two bytes of a system call, and two more; 0 for none. Of the two the second one is rarer,
 * so words that have none of it are passed over: a program's libraries have hundreds of megabytes. */
static const byte *next_call(const byte *at, const byte *end)
{
    while (at + 4 <= end) {
        word eight = EACH(0x05ul);
        while (at + AHEAD <= end && (__builtin_memcpy(&eight, at + 1, sizeof eight), !has_zero(eight ^ EACH(0x05ul))))
            at += sizeof eight;
        const byte *last = at + AHEAD <= end ? at + sizeof eight : end - 3;
        for (; at < last; at++)
            if (at[0] == 0x0f && at[1] == 0x05)
                return at;
    }
    return 0;
}

static int has_one(const byte *begin, const byte *end, struct range functions, int is_exact)
{
    for (const byte *at = begin; (at = next_call(at, end)); at++)
        if (may_confine(begin, at, is_exact && (word)at >= functions.begin && (word)at < functions.end))
            return 1;
    return 0;
}

int may_confine_past_libc(const struct link_map *object)
{
    ElfW(Phdr) parts[MOST_PARTS];
    word count = parts_of(object, parts), size = 0;
    for (word i = 0; i < count; i++)
        if (parts[i].p_type != PT_LOAD || (parts[i].p_flags & (PF_R | PF_X)) != (PF_R | PF_X))
            parts[i].p_filesz = 0;
        else
            size += parts[i].p_filesz;
    const int is_exact = size <= MOST_EXACT;
    const struct range functions = is_exact ? functions_of(object, parts, count) : (struct range){0, 0};
    for (word i = 0; size <= MOST_READ && i < count; i++) {
        const byte *begin = (const byte *)(object->l_addr + parts[i].p_vaddr);
        if (parts[i].p_filesz && has_one(begin, begin + parts[i].p_filesz, functions, is_exact))
            return 1;
    }
    return 0;
}
