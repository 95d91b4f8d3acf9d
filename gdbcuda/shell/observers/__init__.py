"""``gdbcuda trace --with``: other ways to watch a program than the recorder."""
