"""``gdbcuda demo``: the stand-in driver and the samples, built on this machine, and a first session over them."""
