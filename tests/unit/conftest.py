"""How Hypothesis plays: no test asserts a time that it has not named itself, for other programs use the machine too.
And a folder for all workers of the run."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("gdbcuda", deadline=None)
settings.load_profile("gdbcuda")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For C programs of `gdbcuda conform`: each is built by the first test that needs it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "conform-programs"
    folder.mkdir(exist_ok=True)
    return folder
