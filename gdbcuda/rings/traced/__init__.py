"""What `gdbcuda trace` leaves in a folder: the rings and files of its processes, read as a log."""
