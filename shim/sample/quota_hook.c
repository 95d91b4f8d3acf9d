/* A small hook library whose limit all processes share that name the same file in QUOTA_REGION; cuMemAlloc_v2 alone is
   counted. Processes may be killed at any time: the lock is a robust one, and shares of the dead are not counted. */
#include "sample/quota.h"
