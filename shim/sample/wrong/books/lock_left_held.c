/* WRONG: the lock in the region that processes share is an ordinary one.
   Shows: after kill -9 at a bad moment every process with the same QUOTA_REGION waits for ever. */
#define LOCK_KIND PTHREAD_MUTEX_STALLED
#include "sample/quota.h"
