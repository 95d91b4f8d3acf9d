"""The call log: what was called, in which order, by whom, with what result. Files, views and comparisons.

Nothing here knows a debugger: a recorder makes `record.Call` objects, a sink keeps them, everything else reads them.
"""
