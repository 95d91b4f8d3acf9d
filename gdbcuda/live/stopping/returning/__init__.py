"""Where a call returns to, what is kept of it until then, and what is shown."""
