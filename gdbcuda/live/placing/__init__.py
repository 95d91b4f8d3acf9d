"""Breakpoints at bare addresses: whose process they are in, and when they go, stay or fall silent."""
