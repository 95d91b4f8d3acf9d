"""`gdbcuda ab`: a program is run without and with a hook library, and both runs are compared."""
