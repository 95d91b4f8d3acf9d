/* Bits of FUNCTION_SHAPE: what the recorder does for a function's calls. */
#ifndef GDBCUDA_SHAPE_H
#define GDBCUDA_SHAPE_H

#include "ring_layout.h"

#define IS_KNOWN 1
#define HAS_ONE_OUT 2 /* which the front of a record has room for */
#define TELLS 4
#define IS_FOLLOWED 8
#define WANTS_PYTHON 16
/* What through.S does by itself: arguments in registers and PLAIN_STACK words on the stack; one out-value of a word or half
 * a word. */
#define IS_PLAIN 32
#define HAS_PLAIN_OUT 64
#define HAS_MORE_LEFT 128 /* after success there is something to do that through.S does not */
#define HAS_ARGUMENTS 256 /* beside the registers */
#define HAS_OUTS 512      /* which the front has no room for */
#define HAS_CALLERS 1024
#define IS_IN_FRONT 2048 /* plain, and no words on the stack */

#define FRONT_SIZE_BITS 7 /* in bytes */
#define MORE_ROOM_BITS 6
#define PLAIN_STACK 6 /* cuLaunchKernel has 5 */
#define PAGE_BITS 12

#define PAGE (1 << PAGE_BITS)
#define WRITTEN_FOR (1 << 24) /* ticks */
#define PAIR_EVERY (1 << 20)  /* ticks between two looks at the clock */

#endif
