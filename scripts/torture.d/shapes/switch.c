/* torture: A dense switch, which most compilers make a jump table of. */
#include "shape.h"
int NAME(u64 *p, word n)
{
    switch (n & 7) { /* each falls into the next */
    case 7: *p = *p * 31 + n--; __asm__ volatile("" ::: "memory"); /* fall through */
    case 6: *p = *p * 31 + n--; __asm__ volatile("nop" ::: "memory"); /* fall through */
    case 5: *p = *p * 31 + n--; __asm__ volatile("nop;nop" ::: "memory"); /* fall through */
    case 4: *p = *p * 31 + n--; __asm__ volatile("" ::: "memory"); /* fall through */
    case 3: *p = *p * 31 + n--; __asm__ volatile("nop" ::: "memory"); /* fall through */
    case 2: *p = *p * 31 + n--; __asm__ volatile("" ::: "memory"); /* fall through */
    case 1: *p = *p * 31 + n--; __asm__ volatile("" ::: "memory"); /* fall through */
    default: *p = *p * 31 + n;
    }
    return RESULT_OF(n);
}
