"""PyTorch's caching allocator: what it holds, from its snapshot or from the memory of a process."""
