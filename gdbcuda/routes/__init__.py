"""Which implementation answers: routes and requests, over values and bytes, without a debugger."""
