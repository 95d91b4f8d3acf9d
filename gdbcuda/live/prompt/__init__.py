"""What a user types: commands, settings, hooks of gdb's own commands; whatever fails in them ends with one line."""
