"""`gdbcuda run`: a program under gdb, whatever starts it and whatever it starts."""
