"""Situations of a process that a hook library has to bear: forks, signals, threads that end, ways to be loaded."""
