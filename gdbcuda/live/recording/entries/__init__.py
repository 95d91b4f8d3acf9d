"""Entries of functions that jump to the recorder in the process, and the code that they go on with."""
