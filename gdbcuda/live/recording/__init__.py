"""The call log of a session, by breakpoints that never stop."""
