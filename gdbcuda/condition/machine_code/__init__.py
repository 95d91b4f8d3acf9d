"""Conditions as x86-64 machine code: the test of a guard, which runs at a function's first instruction."""
