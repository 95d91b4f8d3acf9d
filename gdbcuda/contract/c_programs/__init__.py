"""Small C programs that call the driver through a hook library: written, compiled, run."""
