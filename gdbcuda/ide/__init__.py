"""What an IDE needs to debug a program with its hook library through gdbcuda: files, and what is left for the person.

One file in ``ides/`` for each IDE, found by itself: a function under ``@ide("name", "title")`` that makes a `IdePlan`
of a `IdeRequest`. Nothing is written here (`gdbcuda.ide.cli` does).
"""
