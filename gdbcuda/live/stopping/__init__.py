"""What a stop says, and what is kept of a call until it returns."""
