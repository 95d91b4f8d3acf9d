"""Traces that others have made, as call logs: begin and end lines, Chrome's format, what nsys exports."""
