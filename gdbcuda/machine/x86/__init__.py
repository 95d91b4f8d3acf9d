"""x86-64: instructions written, and what those that are there do to jumps, stack and kernel."""
