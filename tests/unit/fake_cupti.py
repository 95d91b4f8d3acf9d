"""A CUPTI for machines without a GPU (fake_cupti.c), to be preloaded."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gdbcuda.gpu import cupti_files

FAKE = Path(__file__).resolve().parent / "fake_cupti.c"
needs_cupti = pytest.mark.skipif(not cupti_files.for_make(), reason="no CUPTI to build with")


@pytest.fixture(scope="module")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its path; its name is that of the one that our library was built with."""
    flags = shlex.split(cupti_files.for_make())
    soname = next(re.findall(r'"(.*)"', one) for one in flags if one.startswith("-DCUPTI_SONAME"))[0]
    library = tmp_path_factory.mktemp("cupti") / soname
    subprocess.run(["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", *flags, f"-Wl,-soname,{soname}", "-o", str(library),
                    str(FAKE), "-pthread"], check=True)  # fmt: skip
    return str(library)
