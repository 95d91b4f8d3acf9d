"""Faults: what is done to calls of the API on purpose, to see what a program and its hook library make of it."""
