/* WRONG: the lock in the region that processes share is an ordinary one.
   Shows: after kill -9 at a bad moment every process with the same QUOTA_REGION waits for ever.
   conform: books/killed: after kill -9 of a process the next one does not end
   conform: life/killed: after kill -9 of a process the next one does not end */
#define LOCK_KIND PTHREAD_MUTEX_STALLED
#include "sample/quota.h"
