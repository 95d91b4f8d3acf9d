"""Which functions of a hook library were reached in recorded runs, by which way, and which calls went past it."""
