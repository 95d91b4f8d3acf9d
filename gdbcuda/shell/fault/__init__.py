"""A run of a program with a fault, without a prompt."""
