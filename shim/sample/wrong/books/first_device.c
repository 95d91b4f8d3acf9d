/* WRONG: takes all memory for memory of the first device.
   Shows: a program that has filled its second device gets nothing of the first.
   conform: books/cuMemAlloc_v2 on two devices: cuMemAlloc_v2 on a second device changes how much cuMemGetInfo_v2 says is used of the first */
#include "sample/quota.h"
