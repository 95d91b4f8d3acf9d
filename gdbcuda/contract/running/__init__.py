"""The cases, played until all are done or the time is up: which is next, and by whom."""
