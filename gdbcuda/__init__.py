"""gdbcuda: a GDB extension for people who write and debug CUDA and NVML hook libraries.

Each folder is a room; its first line says what it is about. A room imports itself and those above it in the map,
ROOMS.md; ``tests/unit/test_house.py`` holds that order."""

__version__ = "0.1.0"
