"""``gdbcuda`` in a shell: which of its words is which program, and those that belong to no other room."""
