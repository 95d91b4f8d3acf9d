/* WRONG: has room for two blocks, and counts the third one all the same.
   Shows: a program that has three at a time never gets back what the third one took.
   conform: books/cuMemAlloc_v2: cuMemFree_v2 gives back a block, and cuMemGetInfo_v2 does not go back by what it has taken */
#define MOST_BLOCKS 2
#include "sample/quota.h"
