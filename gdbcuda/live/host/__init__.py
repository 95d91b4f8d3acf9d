"""gdb itself: its commands, console and inferiors, and what of ours it loads only when it is used."""
