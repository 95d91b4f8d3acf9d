"""What machine code gives away without a disassembler: tail calls, stubs, calls of a name."""
