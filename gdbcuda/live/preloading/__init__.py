"""How a hook library gets into the program, and whether it is there. (ld.so(8), LD_PRELOAD.)"""
