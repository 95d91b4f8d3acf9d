"""What cuda-fail, cuda-delay and cuda-set make, and what gdb does where no guard does it."""
