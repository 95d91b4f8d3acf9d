"""Requests for functions by name: seen, logged, stopped at, answered differently."""
