/* WRONG: does not know that a context takes its blocks with it.
   Shows: after cuCtxDestroy_v2 the blocks that were made in it are still counted. cuMemAllocPitch_v2, cuMemAllocAsync,
   cuMemCreate and others are not counted at all: each is a way past QUOTA.
   conform: books/cuMemAlloc_v2: all is given back, and cuMemGetInfo_v2 does not return to the start
   conform: books/cuMemAllocPitch_v2: cuMemAllocPitch_v2 grants more than the limit */
#include "sample/quota.h"
