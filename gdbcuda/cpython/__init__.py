"""Python stacks of a process, read from its memory: which line of the script asked. No debug info, no call into it."""
