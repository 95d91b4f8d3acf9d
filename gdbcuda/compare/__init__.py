"""What a hook library changes: a program's run without it against one with it, or with two of them."""
