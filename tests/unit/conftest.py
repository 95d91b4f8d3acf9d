"""How Hypothesis plays: no test asserts a time that it has not named itself, for other programs use the machine too."""

from hypothesis import settings

settings.register_profile("gdbcuda", deadline=None)
settings.load_profile("gdbcuda")
