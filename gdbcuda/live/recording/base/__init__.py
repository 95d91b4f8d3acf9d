"""What every recorder stands on: what is wanted, where it is planted, what its lines refer to."""
