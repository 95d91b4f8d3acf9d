"""One guarded function: its patch, lowered and raised, in a process that runs on or stands still; the calls inside."""
