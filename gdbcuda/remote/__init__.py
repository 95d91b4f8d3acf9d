"""A program on another machine: what to type there, and what to type in gdb here.

``plan.plan(Request)`` is both, in order; ``gdbcuda remote`` and ``cuda-remote`` print it.
(gdb manual: "Using the gdbserver Program", "Connecting to a Remote Target", "Specifying Source Directories".)
"""
