#!/usr/bin/env python3
"""Write gdbcuda/api/table.json, and versions.txt beside it, from the vendor's headers, which come as wheels from PyPI.

Usage: .venv/bin/python scripts/generate_api.py      (needs libclang==18.1.1, gcc, and pip for the wheels)

Only development needs this. The headers stay in .cache/; facts about the interface go into the table,
none of their text does. The same headers give the same file, byte for byte.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from read_headers import STUBS, Headers
from read_types import Entries

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "headers"
TABLE = ROOT / "gdbcuda" / "api" / "table.json"
VERSIONS = TABLE.with_name("versions.txt")

CUDA_WHEELS = {
    "11.8": (
        "nvidia-cuda-runtime-cu11==11.8.89",
        "nvidia-cuda-nvcc-cu11==11.8.89",
        "nvidia-cuda-profiler-api-cu11==11.8.86",
    ),
    "12.9": (
        "nvidia-cuda-runtime-cu12==12.9.79",
        "nvidia-cuda-nvcc-cu12==12.9.86",
        "nvidia-cuda-profiler-api-cu12==12.9.79",
    ),
    "13.0": (
        "nvidia-cuda-runtime==13.0.96",
        "nvidia-cuda-crt==13.0.88",
        "nvidia-cuda-profiler-api==13.0.85",
    ),
}
NVML_WHEELS = {"12.9": ("nvidia-nvml-dev-cu12==12.9.79",), "13.5": ("nvidia-nvml-dev==13.5.37",)}

DRIVER, RUNTIME = ("cuda.h", "cudaProfiler.h"), ("cuda_runtime_api.h", "cuda_profiler_api.h")
DRIVER_INTEROP = ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
RUNTIME_INTEROP = ("cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h")
# host_runtime.h is written to be included twice: macros first, declarations second
STARTUP = ("cuda_runtime.h", "crt/host_runtime.h", "crt/host_runtime.h")
PROC_TYPES = tuple(f"cuda{part}Typedefs.h" for part in ("", "Profiler", "GL", "EGL", "VDPAU"))

Sections = dict[str, Entries]


def include_folders(wheels: Iterable[str]) -> list[Path]:
    """Download the wheels once, unpack their headers, and return the folders to search."""
    folders = []
    for wheel in wheels:
        folder = CACHE / wheel
        if not folder.exists():
            download = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*download, "-d", str(CACHE), wheel], check=True)
            name, _, version = wheel.partition("==")
            (file,) = CACHE.glob(f"{name.replace('-', '_')}-{version}-*.whl")
            with zipfile.ZipFile(file) as archive:
                archive.extractall(folder, [n for n in archive.namelist() if n.endswith((".h", ".hpp"))])
        folders += [path for path in folder.glob("nvidia/*/include") if "nvvm" not in path.parts]
    return folders


def stub_folder() -> Path:
    for name, text in STUBS.items():
        path = CACHE / "stubs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return CACHE / "stubs"


def read_cuda(wheels: Iterable[str]) -> Sections:
    folders = [stub_folder(), *include_folders(wheels)]
    every = DRIVER + RUNTIME + RUNTIME_INTEROP + PROC_TYPES
    # the macro makes the headers declare every suffixed name instead of hiding them behind aliases
    headers = Headers(folders, every, ["__CUDA_API_VERSION_INTERNAL"])
    startup = Headers(folders[1:], STARTUP, ["__CUDACC__"], device_code=True)
    plain = Headers(folders, DRIVER + RUNTIME, [])
    sections = {
        "driver": headers.functions(*DRIVER),
        "runtime": headers.functions(*RUNTIME),
        "driver-interop": headers.functions(*DRIVER_INTEROP),
        "runtime-interop": headers.functions(*RUNTIME_INTEROP),
        "runtime-startup": startup.functions("host_runtime.h", "device_functions.h"),
        "types": headers.types(),
        "constants": headers.constants(),
        "aliases": plain.aliases(),
        "proc": proc_map(headers),
    }
    for prototype in sections["runtime-startup"].values():
        for tag in re.findall(r"struct \w+", prototype):  # those that only the C++ headers complete
            sections["types"].setdefault(tag, "")
    return sections


def read_nvml(wheels: Iterable[str]) -> Sections:
    headers = Headers(include_folders(wheels), ["nvml.h"], ["NVML_NO_UNVERSIONED_FUNC_DEFS"])
    plain = Headers(include_folders(wheels), ["nvml.h"], [])
    return {
        "nvml": headers.functions("nvml.h"),
        "types": headers.types(),
        "constants": headers.constants(),
        "aliases": plain.aliases(),
    }


def proc_map(headers: Headers) -> Entries:
    """{name: "VERSION[STREAM] SYMBOL;..."}: which symbol cuGetProcAddress gives from which version on."""
    functions = headers.canonical_functions()
    found: dict[str, list[str]] = {}
    for (name, stream), versions in sorted(headers.proc_types().items()):
        candidates = proc_candidates(name, stream, functions)
        symbols = match_versions(name, dict(sorted(versions.items())), candidates)
        entries = [f"{version}{stream} {symbol}" for version, symbol in symbols.items()]
        found.setdefault(name, []).extend(entries)
    return {name: ";".join(entries) for name, entries in found.items()}


def proc_candidates(name: str, stream: str, functions: Mapping[str, str]) -> Entries:
    """The symbols of that name and stream kind, in the order of their versions, with their C types."""
    pattern = re.compile(rf"{name}(?:_v(\d+))?{'_' + stream if stream else ''}$")
    matches = [match for match in map(pattern.match, functions) if match]
    matches.sort(key=lambda match: int(match[1] or 1))
    return {match[0]: functions[match[0]] for match in matches}


def match_versions(name: str, versions: Mapping[int, str], candidates: Entries) -> dict[int, str]:
    """The n-th version is the n-th suffix; the headers say so nowhere, but their C types must agree."""
    if list(versions.values()) != list(candidates.values()):
        raise SystemExit(f"{name}: versions {versions} do not match {candidates}")
    return dict(zip(versions, candidates))


def merge(by_version: Mapping[str, Sections]) -> dict[str, object]:
    """One entry for all versions where they agree, {"VERSION VERSION": entry} where they do not."""
    versions = list(by_version)
    merged: dict[str, object] = {}
    for section in by_version[versions[0]]:
        names = sorted({name for sections in by_version.values() for name in sections[section]})
        merged[section] = {name: merge_entry(name, section, by_version) for name in names}
    return merged


def merge_entry(name: str, section: str, by_version: Mapping[str, Sections]) -> object:
    versions_of: dict[str, list[str]] = {}
    for version, sections in by_version.items():
        if name in sections[section]:
            versions_of.setdefault(sections[section][name], []).append(version)
    if len(versions_of) == 1 and len(next(iter(versions_of.values()))) == len(by_version):
        return next(iter(versions_of))
    return {" ".join(versions): text for text, versions in versions_of.items()}


def main() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    table = {
        "cuda": merge({version: read_cuda(wheels) for version, wheels in CUDA_WHEELS.items()}),
        "nvml": merge({version: read_nvml(wheels) for version, wheels in NVML_WHEELS.items()}),
    }
    wheels = {"cuda": CUDA_WHEELS, "nvml": NVML_WHEELS}
    VERSIONS.write_text("".join(f"{name} {' '.join(versions)}\n" for name, versions in wheels.items()))
    TABLE.write_text(json.dumps(table, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
