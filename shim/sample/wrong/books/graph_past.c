/* WRONG: does not know that a graph's nodes allocate.
   Shows: a captured program has more than QUOTA.
   conform: books/cuGraphAddMemAllocNode: cuGraphAddMemAllocNode grants more than the limit */
#include "sample/quota.h"
