"""`gdbcuda conform`: the cases of a hook library's contract, run over the stand-in driver, and what they say."""
