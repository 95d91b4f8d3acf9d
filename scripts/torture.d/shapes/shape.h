/* What every shape is made with. A shape is included once for each function of a library, with NAME defined: in C (.c),
 * C++ (.cc) or assembly (.S); in Rust (.rs) the word NAME is replaced. All of them do what `mix` in torture.h does.
 * PARTNER is another function of the library. The first line is "torture (WORDS): WHAT IT IS". WORDS: loops (its
 * breakpoint is hit several times a call), blind (it cannot be unwound everywhere), system (it may wait for a lock or
 * need memory from the kernel), patchable (12 bytes at its entry may be overwritten), indirect (its entry is chosen by a
 * resolver), stack (it asks for arguments on the stack, which CUDA's function of that name has not: a recorder that calls
 * it hands on those that CUDA's has). */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define LOCAL(x) JOIN(NAME, x)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define SIBLING ((unsigned long)1 << 50) /* set in the sizes of calls that a hook makes itself */

#ifdef __ASSEMBLER__
#define BEGIN                                                                                                          \
        .text;                                                                                                         \
        .globl NAME;                                                                                                   \
        .type NAME, @function;                                                                                         \
NAME: ;                                                                                                                \
        .cfi_startproc
#define END                                                                                                            \
        .cfi_endproc;                                                                                                  \
        .size NAME, .- NAME
#define PUSH(r)                                                                                                        \
        push r;                                                                                                        \
        .cfi_adjust_cfa_offset 8
#define POP(r)                                                                                                         \
        pop r;                                                                                                         \
        .cfi_adjust_cfa_offset -8
#define ROUND /* one round of mix: rax is used up */                                                                   \
        mov (%rdi), %rax;                                                                                              \
        imul $31, %rax, %rax;                                                                                          \
        add %rsi, %rax;                                                                                                \
        mov %rax, (%rdi)
#define RESULT /* 2 for a size of 3T, else 0 */                                                                        \
        shr $40, %rsi;                                                                                                 \
        xor %eax, %eax;                                                                                                \
        cmp $3, %rsi;                                                                                                  \
        sete %al;                                                                                                      \
        add %eax, %eax
#define ROUNDS(again, over) /* all of mix, with numbers for its two labels */                                          \
again:                                                                                                                 \
        ROUND;                                                                                                         \
        test $7, %sil;                                                                                                 \
        je over##f;                                                                                                    \
        dec %rsi;                                                                                                      \
        jmp again##b;                                                                                                  \
over:                                                                                                                  \
        RESULT
#elif !defined(RESULT_OF)
#define RESULT_OF(n) ((n) >> 40 == 3 ? 2 : 0)
typedef unsigned long long u64;
typedef unsigned long word;
static inline __attribute__((always_inline, unused)) int mixed(u64 *p, word n)
{
    word left = n; /* a line in front of the loop: in gdb a breakpoint of the function is at its first one */
    for (;; left--) {
        *p = *p * 31 + left;
        if (!(left & 7))
            return RESULT_OF(left);
    }
}
#endif
