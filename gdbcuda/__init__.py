"""gdbcuda: a GDB extension for people who write and debug CUDA and NVML hook libraries.

Each folder is a room; its first line says what it is about. A room imports those below it: ROOMS.md has the map,
``tests/unit/test_house.py`` the order."""

__version__ = "0.1.0"
