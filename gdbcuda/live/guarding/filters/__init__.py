"""What a guard lets through: conditions, callers, threads and results, as tests in the process."""
