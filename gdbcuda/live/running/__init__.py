"""A program and all that it starts, under one gdb: begun for `gdbcuda run`, kept going, played to its end."""
