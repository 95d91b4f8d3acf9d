"""What the GPU did, and when: what a library in the program is told by CUPTI (shim/gpu), read and judged."""
