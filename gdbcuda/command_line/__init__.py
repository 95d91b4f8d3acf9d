"""What a command takes, in a shell and at gdb's prompt: words, options, their types, the parser, its help."""
