"""gdbcuda: a GDB extension for people who write and debug CUDA and NVML hook libraries."""

__version__ = "0.1.0"
