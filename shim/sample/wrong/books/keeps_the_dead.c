/* WRONG: never looks whether the processes are still there whose shares it counts.
   Shows: after kill -9 of a process that had memory, the others with the same QUOTA_REGION do without it for good.
   conform: books/processes: what a killed process had is not given back
   conform: books/killed: after kill -9 of a process cuMemGetInfo_v2 of the next one is not as it was */
#define IS_GONE(pid) false
#include "sample/quota.h"
