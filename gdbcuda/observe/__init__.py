"""Other eyes on the same calls: the kernel's uprobes and its system calls, watched by tools that are installed, and
made into a call log. Nothing of ours is in the watched process.
"""
