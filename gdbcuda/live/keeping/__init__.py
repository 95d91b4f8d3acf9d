"""A recorder that goes on where gdb does not: how it comes into a process that runs, and what gdb leaves there."""
