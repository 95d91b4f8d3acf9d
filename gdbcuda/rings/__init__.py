"""What the recorder in a process writes: its rings, and the files of a process that `gdbcuda trace` has watched."""
