"""Does a hook library count memory right: what comes back, what is over the limit, what is forgotten."""
