"""Views of a call log: what was called, in which order, by whom, with what result; comparisons, exports, the report.

A line of the log is written in ``calls/text.py``, a line of its file in ``calls/sinks.py``.

Nothing here knows a debugger: a recorder makes `record.Call` objects, a sink keeps them, everything else reads them.
"""

FORMATS = {"chrome": "chrome", "csv": "comma_separated"}  # of an export, each by its function in `export`
