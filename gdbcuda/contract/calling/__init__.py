"""Calls of a hooked function whose answer is prescribed: what was not passed on of one, and of many."""
