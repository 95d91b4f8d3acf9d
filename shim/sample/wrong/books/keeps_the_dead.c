/* WRONG: never looks whether the processes are still there whose shares it counts.
   Shows: after kill -9 of a process that had memory, the others with the same QUOTA_REGION do without it for good. */
#define IS_GONE(pid) false
#include "sample/quota.h"
