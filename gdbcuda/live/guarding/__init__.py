"""Which breakpoints get guards, what the guards let through, and why a function gets none."""
