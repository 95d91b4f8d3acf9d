"""Logs for other programs: the Trace Event Format, CSV, JSON Lines, and back."""
