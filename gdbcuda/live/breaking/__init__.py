"""What cuda-break makes, what `save breakpoints` writes of it, and the breakpoint on recursion."""
