/* WRONG: its table has room for two processes, and another one takes the place of the first.
   Shows: three processes with the same QUOTA_REGION have memory, the last is killed: what the first two have is no longer
   counted, and the others are granted more than QUOTA.
   conform: books/processes: once some of 8 processes are killed, the others get another part of the limit than what is left */
#define MOST_PROCESSES 2
#include "sample/quota.h"
