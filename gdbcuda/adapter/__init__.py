"""What only the author of a hook library knows of it, in a small file beside the library: its adapter."""
