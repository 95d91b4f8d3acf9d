"""What only the process can tell cuda-check and cuda-route: what is loaded, tables of real functions, remote copies."""
