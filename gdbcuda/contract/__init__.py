"""Whether a hook library keeps its contract: cases made from the API table, run over the stand-in driver."""
