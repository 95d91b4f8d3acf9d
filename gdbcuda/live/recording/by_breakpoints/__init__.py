"""The recorder ``stops``: two breakpoints a call, neither of which stops the program."""
