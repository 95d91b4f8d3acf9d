"""`gdbcuda trace`: a program whose calls are recorded without a debugger."""
