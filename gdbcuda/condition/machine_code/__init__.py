"""The back end of conditions that writes x86-64 machine code, to run at a function's first instruction."""
