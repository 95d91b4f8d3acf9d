"""One file for each IDE."""
