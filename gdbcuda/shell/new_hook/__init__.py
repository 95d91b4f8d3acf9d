"""``gdbcuda new-hook``: a small hook library to start from."""
