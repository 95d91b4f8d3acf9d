"""What a hook library does when the driver fails: once, in each call of the driver that it makes."""
