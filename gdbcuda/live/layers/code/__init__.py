"""Code whose name does not say what it is: jumps, indirect functions, answers under other names."""
