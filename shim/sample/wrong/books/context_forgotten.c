/* WRONG: does not know that a context takes its blocks with it.
   Shows: after cuCtxDestroy_v2 the blocks that were made in it are still counted. cuMemAllocPitch_v2, cuMemAllocAsync,
   cuMemCreate and others are not counted at all: each is a way past QUOTA. */
#include "sample/quota.h"
