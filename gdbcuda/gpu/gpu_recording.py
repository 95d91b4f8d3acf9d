"""What a program's environment says so that libcuda loads our library over CUPTI."""

from __future__ import annotations

from collections.abc import Mapping

from gdbcuda.errors import UserError
from gdbcuda.files import places
from gdbcuda.gpu import cupti_files

INJECTION = "CUDA_INJECTION64_PATH"  # libcuda loads it in cuInit, and calls its InitializeInjection
UNDER_CUDA_GDB = "under cuda-gdb CUPTI tells nothing: use gdb for --gpu"
FOLDER, CUPTI = "GDBCUDA_GPU", "GDBCUDA_GPU_CUPTI"  # as shim/gpu has them


def environment(own: Mapping[str, str]) -> dict[str, str]:
    """What is to be added, but for FOLDER; `UserError` where nothing would be recorded."""
    library = places.built(places.GPU)
    if not library:
        raise UserError(f"{places.GPU} is not built: {why_not_built()}", page="gpu")
    there = own.get(INJECTION, "")
    if there:
        raise UserError(f"{INJECTION} is {there} already, and CUPTI serves one only")
    return {INJECTION: library, CUPTI: ":".join(cupti_files.libraries())}


def why_not_built() -> str:
    if any(one.includes and one.library for one in cupti_files.places()):
        return places.HOW_BUILT
    return ("there is no CUPTI here to build it with: install the CUDA toolkit or the packages "
            "nvidia-cuda-cupti, nvidia-cuda-runtime and nvidia-cuda-crt; then "
            f"{places.HOW_BUILT}")  # fmt: skip
