"""The kernel's uprobes: over bpftrace, or over tracefs alone, and the log that is made of what they tell."""
