"""Which calls of a log somebody wants to see: by condition, layer, library, process and time."""
