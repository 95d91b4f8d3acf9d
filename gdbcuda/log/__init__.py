"""Views of a call log: what was called, in which order, by whom, with what result; comparisons, exports, the report.

A line of the log is written in ``calls/text.py``, a line of its file in ``calls/sinks.py``.

Nothing here knows a debugger: a recorder makes `record.Call` objects, a sink keeps them, everything else reads them.
"""

# Of an export, each by its function in `export`.
FORMATS = {"chrome": "chrome", "csv": "comma_separated", "jsonl": "json_lines", "begin-end": "begin_end"}
